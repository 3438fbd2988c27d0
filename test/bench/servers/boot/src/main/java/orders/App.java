package orders;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.Table;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.CommandLineRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.crypto.password.NoOpPasswordEncoder;
import org.springframework.security.crypto.password.PasswordEncoder;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.stereotype.Component;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** A typical service: HTTP, security, JPA on a database in memory. */
@SpringBootApplication
public class App {
    public static void main(String[] args) {
        SpringApplication.run(App.class, args);
    }

    @Bean
    SecurityFilterChain chain(HttpSecurity http) throws Exception {
        return http.csrf(csrf -> csrf.disable())
                .authorizeHttpRequests(
                        requests ->
                                requests.requestMatchers("/actuator/**")
                                        .permitAll()
                                        .anyRequest()
                                        .authenticated())
                .httpBasic(Customizer.withDefaults())
                .build();
    }

    /** Provides a password encoder. Without it, Spring replaces the {noop} password by a bcrypt password at the first request. */
    @Bean
    UserDetailsService users(@Value("${orders.bcrypt}") boolean bcrypt) {
        var user = User.withUsername("u").password(bcrypt ? "{noop}p" : "p").roles("USER").build();
        return new InMemoryUserDetailsManager(user);
    }

    @Bean
    @ConditionalOnProperty(name = "orders.bcrypt", havingValue = "false")
    @SuppressWarnings("deprecation")
    PasswordEncoder encoder() {
        return NoOpPasswordEncoder.getInstance();
    }

    @Bean
    CommandLineRunner fill(Shop shop) {
        return args -> shop.fill();
    }
}

@Entity
@Table(name = "product")
class Product {
    @Id Long id;
    String name;
    BigDecimal price;

    public Long getId() {
        return id;
    }

    public String getName() {
        return name;
    }

    public BigDecimal getPrice() {
        return price;
    }
}

@Entity
@Table(name = "purchase", indexes = @Index(columnList = "customer"))
class Purchase {
    @Id @GeneratedValue Long id;
    String customer;

    @OneToMany(cascade = CascadeType.ALL, mappedBy = "purchase")
    List<Line> lines = new ArrayList<>();
}

@Entity
@Table(name = "line", indexes = @Index(columnList = "purchase_id"))
class Line {
    @Id @GeneratedValue Long id;

    @ManyToOne(fetch = FetchType.LAZY)
    Purchase purchase;

    @ManyToOne(fetch = FetchType.LAZY)
    Product product;

    int quantity;
}

interface Products extends JpaRepository<Product, Long> {
    List<Product> findTop20ByNameContainingOrderByPrice(String part);
}

interface Purchases extends JpaRepository<Purchase, Long> {
    List<Purchase> findTop5ByCustomerOrderByIdDesc(String customer);
}

record ProductView(long id, String name, BigDecimal price) {}

record OrderView(long id, BigDecimal total, List<String> lines) {}

record NewOrder(String customer, Map<Long, Integer> items) {}

@Service
class Shop {
    private final Products products;
    private final Purchases purchases;
    private final Pricing pricing;

    Shop(Products products, Purchases purchases, Pricing pricing) {
        this.products = products;
        this.purchases = purchases;
        this.pricing = pricing;
    }

    @Transactional
    void fill() {
        for (long i = 1; i <= 500; i++) {
            var product = new Product();
            product.id = i;
            product.name = "product-" + Long.toString(i * 7919, 36);
            product.price = BigDecimal.valueOf(i % 97 + 1);
            products.save(product);
        }
    }

    @Transactional(readOnly = true)
    public List<ProductView> search(String part) {
        return products.findTop20ByNameContainingOrderByPrice(part).stream()
                .map(it -> new ProductView(it.id, it.name, pricing.price(it, 1)))
                .toList();
    }

    /** Makes 1 + n queries: the lines of a purchase and each product are fetched lazily. */
    @Transactional(readOnly = true)
    public List<OrderView> history(String customer) {
        return purchases.findTop5ByCustomerOrderByIdDesc(customer).stream().map(this::view).toList();
    }

    @Transactional
    public OrderView order(NewOrder order) {
        var purchase = new Purchase();
        purchase.customer = order.customer();
        order.items()
                .forEach(
                        (id, quantity) -> {
                            var line = new Line();
                            line.purchase = purchase;
                            line.product = products.findById(id).orElseThrow();
                            line.quantity = quantity;
                            purchase.lines.add(line);
                        });
        return view(purchases.save(purchase));
    }

    private OrderView view(Purchase purchase) {
        var total =
                purchase.lines.stream()
                        .map(line -> pricing.price(line.product, line.quantity))
                        .reduce(BigDecimal.ZERO, BigDecimal::add);
        var lines =
                purchase.lines.stream()
                        .map(line -> line.product.getName() + " x" + line.quantity)
                        .toList();
        return new OrderView(purchase.id, total, lines);
    }
}

@Component
class Pricing {
    BigDecimal price(Product product, int quantity) {
        var sum = product.getPrice().multiply(BigDecimal.valueOf(quantity));
        return discounts()
                .reduce(sum, (rest, discount) -> rest.subtract(rest.multiply(discount)), (a, b) -> a)
                .setScale(2, RoundingMode.HALF_UP);
    }

    private Stream<BigDecimal> discounts() {
        return Stream.of("0.01", "0.02", "0.005").map(BigDecimal::new);
    }
}

@RestController
@RequestMapping("/shop")
class ShopController {
    private final Shop shop;

    ShopController(Shop shop) {
        this.shop = shop;
    }

    @GetMapping("/search")
    List<ProductView> search(@RequestParam String q) {
        return shop.search(q);
    }

    @GetMapping("/history/{customer}")
    List<OrderView> history(@PathVariable String customer) {
        return shop.history(customer);
    }

    @PostMapping("/order")
    OrderView order(@RequestBody NewOrder order) {
        return shop.order(order);
    }
}
