public import Foundation
import Synchronization

/// An item that a coordinated access is to read or write, with the URL at which it finally is.
public final class FileAccessIntent: Sendable {
    /// What is to be done with the item.
    let access: Access
    private let current: Mutex<URL>

    private init(_ url: URL, _ access: Access) {
        self.access = access
        current = Mutex(url)
    }

    /// An intent to read.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - options: how it is to be read.
    /// - Returns: the intent.
    public static func readingIntent(with url: URL, options: FileCoordinator.ReadingOptions = []) -> FileAccessIntent {
        FileAccessIntent(url, .read(options))
    }

    /// An intent to write.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - options: at most one; more are a programmer's error.
    /// - Returns: the intent.
    public static func writingIntent(with url: URL, options: FileCoordinator.WritingOptions = []) -> FileAccessIntent {
        FileAccessIntent(url, .write(options.checked))
    }

    /// The item's URL: the given one until the access is granted, from then on where the item is, which may be elsewhere (C-41).
    public internal(set) var url: URL {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
