// Asks Kafka's own StandardAuthorizer: ACLs and questions as lines on standard input, answers on standard output.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;

public class Decide {
    public static void main(String[] args) throws Exception {
        StandardAuthorizer authorizer = fresh();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] f = line.split("\t", -1);
            if (f[0].equals("fresh")) {
                authorizer = fresh();
            } else if (f[0].equals("acl")) {
                authorizer.addAcl(Uuid.randomUuid(), new StandardAcl(ResourceType.valueOf(f[1]), f[2],
                    PatternType.valueOf(f[3]), f[4], f[5], AclOperation.valueOf(f[6]), AclPermissionType.valueOf(f[7])));
            } else {
                ResourcePattern what = new ResourcePattern(ResourceType.valueOf(f[1]), f[2], PatternType.LITERAL);
                Action action = new Action(AclOperation.valueOf(f[5]), what, 1, false, false);
                System.out.println(authorizer.authorize(context(f[3], f[4]), List.of(action)).get(0));
            }
        }
    }

    private static StandardAuthorizer fresh() {
        StandardAuthorizer authorizer = new StandardAuthorizer();
        authorizer.configure(Map.of("super.users", "User:root"));
        authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        authorizer.completeInitialLoad();
        return authorizer;
    }

    private static AuthorizableRequestContext context(String principal, String host) throws Exception {
        KafkaPrincipal who = new KafkaPrincipal("User", principal.substring("User:".length()));
        InetAddress from = InetAddress.getByName(host);
        return (AuthorizableRequestContext) Proxy.newProxyInstance(Decide.class.getClassLoader(),
            new Class<?>[] {AuthorizableRequestContext.class}, (proxy, method, values) -> switch (method.getName()) {
                case "principal" -> who;
                case "clientAddress" -> from;
                case "requestType", "requestVersion", "correlationId" -> 0;
                default -> "test";
            });
    }
}
