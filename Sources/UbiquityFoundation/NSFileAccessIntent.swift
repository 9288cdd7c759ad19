import FileCoordination
public import Foundation

/// An item for ``NSFileCoordinator/coordinate(with:queue:byAccessor:)``, with its final URL.
public final class NSFileAccessIntent: NSObject, @unchecked Sendable {
    // A constant; it guards its own state.
    let base: FileAccessIntent

    private init(_ base: FileAccessIntent) { self.base = base }

    /// Makes an intent to read.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - options: the reading options.
    /// - Returns: the intent.
    public class func readingIntent(with url: URL, options: NSFileCoordinator.ReadingOptions = []) -> NSFileAccessIntent {
        NSFileAccessIntent(.readingIntent(with: url, options: options.base))
    }

    /// Makes an intent to write.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - options: at most one option; more are a programming error.
    /// - Returns: the intent.
    public class func writingIntent(with url: URL, options: NSFileCoordinator.WritingOptions = []) -> NSFileAccessIntent {
        NSFileAccessIntent(.writingIntent(with: url, options: options.base))
    }

    /// The item's URL: the given one until the access is granted, then the current one, which may differ.
    public var url: URL { base.url }
}
