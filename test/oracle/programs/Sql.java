package programs;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

/** H2: tables, an index, joins, groups, a savepoint and an error, in memory. */
public final class Sql implements Driver.Workload {
    static {
        // This cache uses SoftReferences and hash codes, so its content varies.
        System.setProperty("h2.objectCache", "false");
    }

    @Override
    public String work() throws Exception {
        StringBuilder said = new StringBuilder();
        try (Connection connection = DriverManager.getConnection("jdbc:h2:mem:")) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("create table person(id int primary key, name varchar(40), city int)");
                statement.execute("create table city(id int primary key, name varchar(40))");
                statement.execute("create index by_name on person(name)");
                for (int i = 0; i < 10; i++) statement.execute("insert into city values(" + i + ", 'City " + i + "')");
            }
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("insert into person values(?, ?, ?)")) {
                for (int i = 0; i < 300; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, "Name " + i * 7919 % 1000);
                    insert.setInt(3, i * 31 % 10);
                    insert.addBatch();
                }
                insert.executeBatch();
            }
            connection.commit();
            try (Statement statement = connection.createStatement()) {
                query(statement, said, "select c.name, count(*), min(p.name), max(p.id) from person p "
                    + "join city c on p.city = c.id where p.name like 'Name %1%' group by c.name order by 2 desc, 1");
                query(statement, said, "select upper(name) || '-' || length(name) from person "
                    + "where id between 40 and 60 and city in (select id from city where name > 'City 4') order by 1");
                query(statement, said, "with recursive t(n) as (select 1 union all select n + 1 from t where n < 20) "
                    + "select sum(n), avg(n) from t");
                var point = connection.setSavepoint();
                said.append(statement.executeUpdate("delete from person where city = 3"));
                connection.rollback(point);
                query(statement, said, "select count(*) from person where city = 3");
                try {
                    statement.execute("insert into person values(1, 'twice', 0)");
                } catch (java.sql.SQLException expected) {
                    said.append(expected.getErrorCode());
                }
            }
            connection.rollback();
        }
        return said.toString();
    }

    private static void query(Statement statement, StringBuilder said, String sql) throws Exception {
        try (ResultSet rows = statement.executeQuery(sql)) {
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) for (int i = 1; i <= columns; i++) said.append(rows.getString(i)).append(' ');
        }
    }
}
