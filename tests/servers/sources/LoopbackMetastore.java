import java.net.InetSocketAddress;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.IHMSHandler;
import org.apache.hadoop.hive.metastore.RetryingHMSHandler;
import org.apache.hadoop.hive.metastore.TSetIpAddressProcessor;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.thrift.server.TServer;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;

/** Serves Hive's metastore as its own main class of 3.1 does, which cannot be told to listen on one interface only. */
public class LoopbackMetastore {
    public static void main(String[] arguments) throws Exception {
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0]));
        // Before the slow part: a taken port ends the start at once.
        TServerSocket socket = new TServerSocket(address);
        Configuration conf = MetastoreConf.newMetastoreConf();
        IHMSHandler handler =
                RetryingHMSHandler.getProxy(conf, new HiveMetaStore.HMSHandler("metastore", conf, false), false);
        TServer server = new TThreadPoolServer(new TThreadPoolServer.Args(socket)
                .processor(new TSetIpAddressProcessor<>(handler))
                .minWorkerThreads(4));
        server.serve();
        System.exit(1);
    }
}
