import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Produces records at a fixed rate, independent of the broker, and consumes them, until SIGTERM.
 *
 * <p>Arguments: port of the broker, records per second, file of latencies, file of requests. A line of the first file has the scheduled
 * time of a record (epoch ms), the time from then to its acknowledgement (ms), and 200, or 0 for a failed record. A line of the second
 * file, written ten times a second, has the epoch ms, and the requests that the producer and the consumer have sent since their start.
 */
public class KafkaLoad {
    private static final String TOPIC = "load";
    private static final int PARTITIONS = 6;
    private static final int VALUE_BYTES = 500;
    private static final int KEYS = 997;

    private final Map<String, Object> broker;
    private final CountDownLatch stop = new CountDownLatch(1);
    private volatile KafkaConsumer<byte[], byte[]> consumer;

    private KafkaLoad(String port) {
        // Telemetry is disabled, so nearly all requests of the producer are produce requests.
        broker = Map.of("bootstrap.servers", "127.0.0.1:" + port, "enable.metrics.push", false);
    }

    public static void main(String[] args) throws Exception {
        new KafkaLoad(args[0]).run(Integer.parseInt(args[1]), args[2], args[3]);
    }

    private void run(int rate, String latencies, String requests) throws Exception {
        createTopic();
        daemon(this::read);
        var main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(main)));
        try (var out = new PrintWriter(new FileWriter(latencies));
                var producer = new KafkaProducer<byte[], byte[]>(producerOptions())) {
            daemon(() -> count(producer, requests));
            send(producer, rate, out);
            producer.flush();
        }
    }

    private void end(Thread main) {
        stop.countDown();
        try {
            main.join(10_000);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void createTopic() throws InterruptedException, ExecutionException {
        try (var admin = Admin.create(broker)) {
            admin.createTopics(List.of(new NewTopic(TOPIC, PARTITIONS, (short) 1))).all().get();
        }
    }

    private Map<String, Object> producerOptions() {
        var options = new HashMap<>(broker);
        options.put("acks", "all");
        options.put("linger.ms", 0);
        options.put("delivery.timeout.ms", 60_000);
        options.put("key.serializer", ByteArraySerializer.class);
        options.put("value.serializer", ByteArraySerializer.class);
        return options;
    }

    private void send(KafkaProducer<byte[], byte[]> producer, int rate, PrintWriter out) throws InterruptedException {
        var value = new byte[VALUE_BYTES];
        new Random(1).nextBytes(value);
        long begin = System.nanoTime();
        long epoch = System.currentTimeMillis();
        long gap = TimeUnit.SECONDS.toNanos(1) / rate;
        for (long i = 0; ; i++) {
            long due = begin + i * gap;
            if (stop.await(due - System.nanoTime(), TimeUnit.NANOSECONDS)) return;
            long dueMs = epoch + TimeUnit.NANOSECONDS.toMillis(due - begin);
            var key = Long.toString(i % KEYS).getBytes();
            producer.send(
                    new ProducerRecord<>(TOPIC, key, value),
                    (metadata, problem) -> {
                        if (problem != null) System.err.println(Instant.now() + " " + problem);
                        out.printf("%d,%.2f,%d%n", dueMs, (System.nanoTime() - due) / 1e6, problem == null ? 200 : 0);
                    });
        }
    }

    private void read() {
        var options = new HashMap<>(broker);
        options.put("group.id", "readers");
        options.put("auto.offset.reset", "latest");
        options.put("key.deserializer", ByteArrayDeserializer.class);
        options.put("value.deserializer", ByteArrayDeserializer.class);
        consumer = new KafkaConsumer<>(options);
        consumer.subscribe(List.of(TOPIC));
        while (stop.getCount() > 0) consumer.poll(Duration.ofMillis(200));
    }

    private void count(KafkaProducer<?, ?> producer, String file) {
        try (var out = new PrintWriter(new FileWriter(file))) {
            while (!stop.await(100, TimeUnit.MILLISECONDS)) {
                long read = consumer == null ? 0 : sent("consumer-node-metrics", consumer.metrics());
                out.printf(
                        "%d,%d,%d%n",
                        System.currentTimeMillis(), sent("producer-node-metrics", producer.metrics()), read);
                out.flush();
            }
        } catch (IOException | InterruptedException problem) {
            System.err.println(problem);
        }
    }

    /** Returns the number of requests over all connections. */
    private static long sent(String group, Map<MetricName, ? extends Metric> metrics) {
        double total = 0;
        for (var metric : metrics.values()) {
            var name = metric.metricName();
            if (name.group().equals(group) && name.name().equals("request-total")) {
                total += ((Number) metric.metricValue()).doubleValue();
            }
        }
        return Math.round(total);
    }

    private static void daemon(Runnable work) {
        var thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }
}
