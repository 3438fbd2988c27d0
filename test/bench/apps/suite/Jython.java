package suite;

import java.util.Properties;
import org.python.core.PyObject;
import org.python.util.PythonInterpreter;
import tables.Driver;

/** jython: runs two Python programs, compiled to classes once: one like pystone, one like Richards. */
public final class Jython implements Driver.Program {
    private static final String SCRIPT = """
        class Record(object):
            def __init__(self, link=None, kind=0, number=0, text=''):
                self.link = link
                self.kind = kind
                self.number = number
                self.text = text
            def copy(self):
                return Record(self.link, self.kind, self.number, self.text)

        def first(a, b):
            return a + 2 + b

        def same(a, b):
            i = 1
            while i <= 1:
                if a[i] == b[i + 1]:
                    i = i + 1
                else:
                    break
            return a > b

        def stone(loops):
            numbers = [0] * 51
            grid = [numbers[:] for i in range(51)]
            record = Record(None, 1, 40, 'some string')
            next = Record(record, 0, 5, 'another string')
            total = 0
            for i in xrange(loops):
                copy = next.copy()
                copy.number = first(copy.number, i % 7)
                place = copy.number + 5
                numbers[place % 51] = i
                for k in xrange(place % 40, place % 40 + 2):
                    grid[place % 51][k] = place
                if same('DHRYSTONE, 1', 'DHRYSTONE, ' + str(i)):
                    total += grid[place % 51][place % 40]
                for c in 'ABC':
                    if c == 'B':
                        total += ord(c)
                next.link = copy
                next.number = (copy.number + 1) % 50
            return total

        class Packet(object):
            def __init__(self, kind, value):
                self.kind, self.value = kind, value

        class Task(object):
            def __init__(self, name, system):
                self.name, self.system, self.queue, self.done = name, system, [], 0
            def take(self, packet):
                self.queue.append(packet)
            def step(self):
                packet = self.queue.pop(0)
                self.done += 1
                self.handle(packet)

        class Worker(Task):
            def handle(self, packet):
                packet.value = (packet.value * 31 + self.done) % 65521
                self.system.send((self.name + packet.value) % len(self.system.tasks), packet)

        class Device(Task):
            def handle(self, packet):
                packet.kind = 1 - packet.kind
                self.system.send((self.name + 1) % len(self.system.tasks), packet)

        class System(object):
            def __init__(self):
                self.tasks = [(Worker, Device)[i % 3 == 0](i, self) for i in range(6)]
                self.sent = 0
            def send(self, to, packet):
                self.sent += 1
                self.tasks[to].take(packet)
            def run(self, steps):
                for i in range(12):
                    self.send(i % 6, Packet(i & 1, i))
                while steps > 0:
                    for task in self.tasks:
                        if task.queue:
                            task.step()
                            steps -= 1
                return sum([task.done * (i + 1) for i, task in enumerate(self.tasks)]) + self.sent

        def work(stones, steps):
            return stone(stones) * 31 + System().run(steps)
        """;
    private final PythonInterpreter python;
    private final PyObject work;

    public Jython() {
        Properties properties = new Properties();
        properties.setProperty("python.import.site", "false");
        properties.setProperty("python.cachedir.skip", "true");
        PythonInterpreter.initialize(System.getProperties(), properties, new String[0]);
        python = new PythonInterpreter();
        python.exec(SCRIPT);
        work = python.get("work");
    }

    @Override
    public long run() {
        return work.__call__(python.eval("70000"), python.eval("70000")).asLong();
    }
}
