package org.apache.iceberg.rest;

import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** Serves Iceberg's REST catalog as its own main class does, which listens on every interface. */
public class LoopbackIcebergRest {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> properties = new HashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("=", 2);
            properties.put(parts[0], parts[1]);
        }
        int port = Integer.parseInt(properties.remove("port"));
        RESTCatalogServer.CatalogContext context = new RESTCatalogServer.CatalogContext(
                CatalogUtil.buildIcebergCatalog("rest_backend", properties, new Configuration()), properties);
        ServletContextHandler handler = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
        handler.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTServerCatalogAdapter(context))), "/*");
        Server server = new Server(new InetSocketAddress("127.0.0.1", port));
        server.setHandler(handler);
        server.start();
        server.join();
    }
}
