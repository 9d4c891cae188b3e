import com.sun.tools.attach.VirtualMachine;
import java.lang.instrument.Instrumentation;

/** Run with a pid, its own jar and a thread's name it enters that JVM, and there it interrupts the thread of that name. */
public class Interrupt {
    public static void main(String[] arguments) throws Exception {
        VirtualMachine machine = VirtualMachine.attach(arguments[0]);
        machine.loadAgent(arguments[1], arguments[2]);
        machine.detach();
    }

    public static void agentmain(String name, Instrumentation ignored) {
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().startsWith(name)).forEach(Thread::interrupt);
    }
}
