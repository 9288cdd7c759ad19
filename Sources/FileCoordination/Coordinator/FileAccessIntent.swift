public import Foundation
import Synchronization

/// An item for a coordinated access to read or write, with its final URL.
public final class FileAccessIntent: Sendable {
    /// The kind of access.
    let access: Access
    private let current: Mutex<URL>

    private init(_ url: URL, _ access: Access) {
        self.access = access
        current = Mutex(url)
    }

    /// Makes an intent to read.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - options: the reading options.
    /// - Returns: the intent.
    public static func readingIntent(with url: URL, options: FileCoordinator.ReadingOptions = []) -> FileAccessIntent {
        FileAccessIntent(url, .read(options))
    }

    /// Makes an intent to write.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - options: at most one option; more are a programming error.
    /// - Returns: the intent.
    public static func writingIntent(with url: URL, options: FileCoordinator.WritingOptions = []) -> FileAccessIntent {
        FileAccessIntent(url, .write(options.checked))
    }

    /// The item's URL: the given one until the access is granted, then the current one, which may differ.
    public internal(set) var url: URL {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
