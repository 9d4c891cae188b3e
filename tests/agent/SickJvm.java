import java.io.FileInputStream;
import java.util.ArrayList;
import java.util.List;

/** A process that is ill in the way its first argument says. It says "ill" when it has begun to be. */
public class SickJvm {
    private static final List<Object> KEPT = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "well" -> { }
            case "deadlock" -> deadlock();
            case "threads" -> threads(Integer.parseInt(arguments[1]));
            case "files" -> files(Integer.parseInt(arguments[1]));
            case "leak" -> new Thread(SickJvm::leak).start();
            case "full" -> new Thread(SickJvm::full).start();
            case "thrash" -> new Thread(SickJvm::thrash).start();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        System.out.println("ill");
        Thread.sleep(120_000);
    }

    private static void deadlock() {
        Object first = new Object();
        Object second = new Object();
        start("first-then-second", () -> both(first, second));
        start("second-then-first", () -> both(second, first));
    }

    private static void both(Object one, Object other) {
        synchronized (one) {
            pause(300);
            synchronized (other) {
                throw new IllegalStateException("nobody comes here");
            }
        }
    }

    private static void threads(int many) {
        for (int n = 0; n < many; n++) {
            start("idle-" + n, () -> pause(120_000));
        }
    }

    private static void files(int many) throws Exception {
        for (int n = 0; n < many; n++) {
            KEPT.add(new FileInputStream("/dev/null"));
        }
    }

    /** Half a MiB more is kept ten times a second, and a collection looks at it. */
    private static void leak() {
        while (KEPT.size() < 100) {
            KEPT.add(new byte[512 * 1024]);
            System.gc();
            pause(100);
        }
        pause(120_000);
    }

    /** Nine tenths of the old generation are kept, and collections go on finding that. */
    private static void full() {
        long old = (long) (Runtime.getRuntime().maxMemory() * 0.62);
        while (KEPT.size() * 65_536L < old) {
            KEPT.add(new byte[65_536]);
        }
        while (true) {
            KEPT.add(new byte[16]);
            System.gc();
            pause(100);
        }
    }

    /** A third of the heap is kept in small pieces, and collections do nothing but look at them. */
    private static void thrash() {
        while (KEPT.size() < 300_000) {
            KEPT.add(new byte[40]);
        }
        while (true) {
            System.gc();
            pause(1);
        }
    }

    private static void start(String name, Runnable run) {
        Thread thread = new Thread(run, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
