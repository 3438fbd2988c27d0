package suite;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Random;
import tables.Driver;

/** h2: transactions as in TPC-C on a database in memory: new order, payment, order status, stock level. */
public final class H2 implements Driver.Program {
    private static final int ITEMS = 1_000;
    private static final int CUSTOMERS = 300;
    private static final int TRANSACTIONS = 1_200;
    private final Connection connection = DriverManager.getConnection("jdbc:h2:mem:shop");

    public H2() throws SQLException {
        connection.setAutoCommit(false);
    }

    @Override
    public long run() throws SQLException {
        create();
        long sum = 0;
        try (Shop shop = new Shop(connection)) {
            Random random = new Random(7);
            shop.fill(random);
            for (int i = 0; i < TRANSACTIONS; i++) {
                int kind = random.nextInt(100);
                if (kind < 45) sum += shop.order(i, random);
                else if (kind < 88) shop.pay(random.nextInt(CUSTOMERS), 1 + random.nextInt(500));
                else if (kind < 96) sum += shop.state(random.nextInt(CUSTOMERS));
                else sum += shop.level(random.nextInt(20));
                connection.commit();
            }
            return sum * 31 + shop.balance();
        }
    }

    private void create() throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("drop all objects");
            statement.execute("create table customer(id int primary key, name varchar(40), balance bigint, payments int)");
            statement.execute("create table item(id int primary key, name varchar(40), price int, quantity int)");
            statement.execute("create table orders(id int primary key, customer int)");
            statement.execute(
                "create table line(orders int, number int, item int, quantity int, amount int, primary key (orders, number))");
            statement.execute("create index by_customer on orders(customer)");
            statement.execute("create index by_quantity on item(quantity)");
        }
    }

    private static final class Shop implements AutoCloseable {
        private final PreparedStatement addCustomer;
        private final PreparedStatement addItem;
        private final PreparedStatement addOrder;
        private final PreparedStatement addLine;
        private final PreparedStatement price;
        private final PreparedStatement take;
        private final PreparedStatement pay;
        private final PreparedStatement state;
        private final PreparedStatement level;
        private final PreparedStatement balance;

        Shop(Connection connection) throws SQLException {
            addCustomer = connection.prepareStatement("insert into customer values (?, ?, 0, 0)");
            addItem = connection.prepareStatement("insert into item values (?, ?, ?, ?)");
            addOrder = connection.prepareStatement("insert into orders values (?, ?)");
            addLine = connection.prepareStatement("insert into line values (?, ?, ?, ?, ?)");
            price = connection.prepareStatement("select price, quantity from item where id = ?");
            take = connection.prepareStatement("update item set quantity = ? where id = ?");
            pay = connection.prepareStatement("update customer set balance = balance + ?, payments = payments + 1 where id = ?");
            state = connection.prepareStatement(
                "select o.id, count(*), sum(l.amount) from orders o join line l on l.orders = o.id where o.customer = ? "
                    + "group by o.id order by o.id desc limit 3");
            level = connection.prepareStatement(
                "select count(distinct l.item) from line l join item i on i.id = l.item where i.quantity < ? and l.orders > 0");
            balance = connection.prepareStatement("select sum(balance), sum(payments) from customer where name like 'c%'");
        }

        void fill(Random random) throws SQLException {
            for (int i = 0; i < CUSTOMERS; i++) update(addCustomer, i, "c" + Integer.toString(random.nextInt(40_000), 36));
            for (int i = 0; i < ITEMS; i++) update(addItem, i, "item " + i, 1 + random.nextInt(9_999), 10 + random.nextInt(90));
        }

        long order(int id, Random random) throws SQLException {
            update(addOrder, id, random.nextInt(CUSTOMERS));
            long total = 0;
            for (int number = 0, lines = 5 + random.nextInt(11); number < lines; number++) {
                int item = random.nextInt(ITEMS);
                int wanted = 1 + random.nextInt(10);
                price.setInt(1, item);
                try (ResultSet row = price.executeQuery()) {
                    row.next();
                    int left = row.getInt(2) - wanted;
                    int amount = row.getInt(1) * wanted;
                    update(take, left < 10 ? left + 91 : left, item);
                    update(addLine, id, number, item, wanted, amount);
                    total += amount;
                }
            }
            return total;
        }

        void pay(int customer, int amount) throws SQLException {
            update(pay, amount, customer);
        }

        long state(int customer) throws SQLException {
            return query(state, customer);
        }

        long level(int limit) throws SQLException {
            return query(level, limit);
        }

        long balance() throws SQLException {
            return query(balance);
        }

        private static void update(PreparedStatement statement, Object... values) throws SQLException {
            for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
            statement.executeUpdate();
        }

        private static long query(PreparedStatement statement, Object... values) throws SQLException {
            for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
            long sum = 0;
            try (ResultSet rows = statement.executeQuery()) {
                int columns = rows.getMetaData().getColumnCount();
                while (rows.next()) for (int i = 1; i <= columns; i++) sum = sum * 31 + rows.getLong(i);
            }
            return sum;
        }

        @Override
        public void close() throws SQLException {
            for (PreparedStatement it : List.of(addCustomer, addItem, addOrder, addLine, price, take, pay, state, level, balance)) it.close();
        }
    }
}
