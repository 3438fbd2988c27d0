package petstore;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.boot.web.servlet.context.ServletWebServerInitializedEvent;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.context.event.EventListener;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.jpa.repository.config.EnableJpaRepositories;
import org.springframework.stereotype.Controller;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseBody;

/**
 * A store of pets: Spring MVC, JPA on H2 in memory, templates, validation, caching, actuator. A present-day version
 * of the report's PetStore.
 *
 *   java petstore.PetStore      "port N" when it answers
 *
 *   GET  /pets?kind=&page=      a page of pets, as HTML
 *   POST /orders                {"customer": "...", "lines": [{"pet": 1, "quantity": 2}]}: the order, as JSON
 *   GET  /orders/{id}           the same order again
 *
 *   roots: petstore.PetStore$Shop.order (about 10 % of the time), org.apache.catalina.connector.CoyoteAdapter.service
 */
@SpringBootApplication(proxyBeanMethods = false)
@EnableCaching
@EnableJpaRepositories(considerNestedRepositories = true)
public class PetStore {
    @Entity
    @Table(name = "pet")
    public static class Pet {
        @Id @GeneratedValue public Long id;
        public String name;
        public String kind;
        public BigDecimal price;
        public int stock;
    }

    @Entity
    @Table(name = "customer_order")
    public static class Order {
        @Id @GeneratedValue public Long id;
        public String customer;
        public Instant placed = Instant.now();
        public BigDecimal total = BigDecimal.ZERO;

        @OneToMany(mappedBy = "order", cascade = CascadeType.ALL, orphanRemoval = true)
        @OrderBy("id")
        public List<Line> lines = new ArrayList<>();
    }

    @Entity
    @Table(name = "order_line")
    public static class Line {
        @Id @GeneratedValue public Long id;
        @ManyToOne public Order order;
        @ManyToOne public Pet pet;
        public int quantity;
    }

    public interface Pets extends JpaRepository<Pet, Long> {
        @Query("select p from PetStore$Pet p where p.kind = ?1 and p.stock > 0")
        List<Pet> available(String kind, PageRequest page);
    }

    public interface Orders extends JpaRepository<Order, Long> {
        @Query("select o from PetStore$Order o join fetch o.lines l join fetch l.pet where o.id = ?1")
        Order whole(long id);

        @Query("select coalesce(sum(o.total), 0) from PetStore$Order o where o.customer = ?1")
        BigDecimal spentBy(String customer);
    }

    public record Wanted(@Min(1) long pet, @Min(1) @Max(9) int quantity) {}

    public record Basket(@NotBlank String customer, List<@Valid Wanted> lines) {}

    public record Sold(String pet, int quantity, BigDecimal price) {}

    public record Receipt(long id, String customer, BigDecimal total, BigDecimal discount, List<Sold> lines) {}

    @Service
    public static class Shop {
        private final Pets pets;
        private final Orders orders;

        Shop(Pets pets, Orders orders) {
            this.pets = pets;
            this.orders = orders;
        }

        @Transactional
        public Receipt order(Basket basket) {
            Order order = new Order();
            order.customer = basket.customer();
            for (Wanted wanted : basket.lines()) {
                Pet pet = pets.findById(wanted.pet()).orElseThrow();
                if (pet.stock < wanted.quantity()) pet.stock += 1000;
                pet.stock -= wanted.quantity();
                Line line = new Line();
                line.order = order;
                line.pet = pet;
                line.quantity = wanted.quantity();
                order.lines.add(line);
                order.total = order.total.add(pet.price.multiply(BigDecimal.valueOf(wanted.quantity())));
            }
            BigDecimal spent = orders.spentBy(order.customer);
            return receipt(orders.save(order), spent);
        }

        @Transactional(readOnly = true)
        public Receipt find(long id) {
            Order order = orders.whole(id);
            return receipt(order, orders.spentBy(order.customer));
        }

        @Transactional(readOnly = true)
        public List<Pet> page(String kind, int page) {
            return pets.available(kind, PageRequest.of(page, 20, Sort.by("price", "name")));
        }

        @Cacheable("kinds")
        public List<String> kinds() {
            return pets.findAll().stream().map(it -> it.kind).distinct().sorted().toList();
        }

        private static Receipt receipt(Order order, BigDecimal spent) {
            BigDecimal discount = spent.compareTo(BigDecimal.valueOf(1000)) > 0 ? new BigDecimal("0.05") : BigDecimal.ZERO;
            List<Sold> sold = order.lines.stream().map(it -> new Sold(it.pet.name, it.quantity, it.pet.price)).toList();
            return new Receipt(order.id, order.customer, order.total, discount, sold);
        }

        @EventListener(ApplicationReadyEvent.class)
        @Transactional
        public void stock() {
            String[] kinds = {"cat", "dog", "fish", "bird", "reptile"};
            for (int i = 0; i < 500; i++) {
                Pet pet = new Pet();
                pet.kind = kinds[i % kinds.length];
                pet.name = pet.kind + "-" + i;
                pet.price = BigDecimal.valueOf(500 + i * 37 % 4000, 2);
                pet.stock = 1000;
                pets.save(pet);
            }
        }
    }

    @Controller
    public static class Web {
        private final Shop shop;

        Web(Shop shop) {
            this.shop = shop;
        }

        @GetMapping("/pets")
        public String pets(@RequestParam(defaultValue = "cat") String kind, @RequestParam(defaultValue = "0") int page, Model model) {
            model.addAttribute("kinds", shop.kinds());
            model.addAttribute("kind", kind);
            model.addAttribute("pets", shop.page(kind, page));
            return "pets";
        }

        @PostMapping("/orders")
        @ResponseBody
        public Receipt order(@Valid @RequestBody Basket basket) {
            return shop.order(basket);
        }

        @GetMapping("/orders/{id}")
        @ResponseBody
        public Receipt order(@PathVariable long id) {
            return shop.find(id);
        }
    }

    @EventListener
    void started(ServletWebServerInitializedEvent event) {
        System.out.println("port " + event.getWebServer().getPort());
    }

    public static void main(String[] args) {
        SpringApplication app = new SpringApplication(PetStore.class);
        app.run(args);
        System.out.println("ready");
    }
}
