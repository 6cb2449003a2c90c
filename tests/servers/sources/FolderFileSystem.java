import java.io.File;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** Stands for any object store: `s3://bucket/key` is the folder `<headwater.folders>/s3/bucket/key`. */
public class FolderFileSystem extends RawLocalFileSystem {
    private URI store;
    private File root;

    @Override
    public void initialize(URI name, Configuration conf) throws IOException {
        super.initialize(name, conf);
        String authority = name.getAuthority() == null ? "" : name.getAuthority();
        store = URI.create(name.getScheme() + "://" + authority);
        root = new File(new File(conf.get("headwater.folders"), name.getScheme()), authority);
        root.mkdirs();
    }

    @Override
    public URI getUri() {
        return store == null ? super.getUri() : store;
    }

    @Override
    public File pathToFile(Path path) {
        return root == null ? super.pathToFile(path) : new File(root, path.toUri().getPath());
    }
}
