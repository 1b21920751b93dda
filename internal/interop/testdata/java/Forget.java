import java.io.InputStream;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/** A remote storage that keeps nothing. Some segments get custom metadata, and some fail at first. */
public class Forget implements RemoteStorageManager {
    private int copied;

    @Override
    public synchronized Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata segment, LogSegmentData data) throws RemoteStorageException {
        copied++;
        if (copied % 7 == 3) {
            throw new RemoteStorageException("one of these copies fails");
        }
        return copied % 2 == 0 ? Optional.empty() : Optional.of(new CustomMetadata(new byte[] {1, 2, 3, (byte) copied}));
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start) throws RemoteStorageException {
        throw new RemoteResourceNotFoundException("forgotten");
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start, int end) throws RemoteStorageException {
        throw new RemoteResourceNotFoundException("forgotten");
    }

    @Override
    public InputStream fetchIndex(RemoteLogSegmentMetadata segment, IndexType type) throws RemoteStorageException {
        throw new RemoteResourceNotFoundException("forgotten");
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata segment) {
    }

    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public void close() {
    }
}
