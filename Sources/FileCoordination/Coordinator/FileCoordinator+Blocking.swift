public import Foundation

// Use these forms in ported code. They block the calling thread until the access is granted, and run the accessor on it
// at most once. Do not call them on the main thread or in a presenter's method; debug builds warn about that.
extension FileCoordinator {
    /// Reads an item, blocking until all writers of it have finished.
    ///
    /// - Parameters:
    ///   - url: the item; it need not exist.
    ///   - options: the reading options.
    ///   - accessor: reads the item at the given URL.
    /// - Returns: the accessor's result.
    /// - Throws: the accessor's error; ``FileCoordinationError`` or a presenter's own error when the accessor was not
    ///   run.
    @available(*, noasync, message: "Use read(_:options:deadline:accessor:).")
    public func coordinate<Value>(
        readingItemAt url: URL, options: ReadingOptions = [], byAccessor accessor: (URL) throws -> Value
    ) throws -> Value {
        try accessBlocking({ [try .init(url, .read(options))] }) { try accessor($0[0]) }
    }

    /// Writes an item, blocking until all other readers and writers of it have finished.
    ///
    /// - Parameters:
    ///   - url: the item; it need not exist.
    ///   - options: at most one option; more are a programming error.
    ///   - accessor: writes the item at the given URL.
    /// - Returns: the accessor's result.
    /// - Throws: as ``coordinate(readingItemAt:options:byAccessor:)``.
    @available(*, noasync, message: "Use write(_:options:deadline:accessor:).")
    public func coordinate<Value>(
        writingItemAt url: URL, options: WritingOptions = [], byAccessor accessor: (URL) throws -> Value
    ) throws -> Value {
        try accessBlocking({ [try .init(url, .write(options.checked))] }) { try accessor($0[0]) }
    }

    /// Reads one item and writes another under one claim.
    ///
    /// - Parameters:
    ///   - readingURL: the item to read.
    ///   - readingOptions: the reading options.
    ///   - writingURL: the item to write.
    ///   - writingOptions: at most one option.
    ///   - accessor: gets both URLs in this order.
    /// - Returns: the accessor's result.
    /// - Throws: as ``coordinate(readingItemAt:options:byAccessor:)``.
    @available(*, noasync, message: "Use read(_:options:writing:writingOptions:deadline:accessor:).")
    public func coordinate<Value>(
        readingItemAt readingURL: URL, options readingOptions: ReadingOptions = [], writingItemAt writingURL: URL,
        options writingOptions: WritingOptions = [], byAccessor accessor: (URL, URL) throws -> Value
    ) throws -> Value {
        try accessBlocking({ [try .init(readingURL, .read(readingOptions)), try .init(writingURL, .write(writingOptions.checked))] }) {
            try accessor($0[0], $0[1])
        }
    }

    /// Writes two items under one claim, for example to move one.
    ///
    /// - Parameters:
    ///   - firstURL: an item, such as the item to move.
    ///   - firstOptions: at most one option, such as `forMoving`.
    ///   - secondURL: another item, such as the destination.
    ///   - secondOptions: at most one option, such as `forReplacing`.
    ///   - accessor: gets both URLs in this order.
    /// - Returns: the accessor's result.
    /// - Throws: as ``coordinate(readingItemAt:options:byAccessor:)``.
    @available(*, noasync, message: "Use write(_:options:writing:writingOptions:deadline:accessor:).")
    public func coordinate<Value>(
        writingItemAt firstURL: URL, options firstOptions: WritingOptions = [], writingItemAt secondURL: URL,
        options secondOptions: WritingOptions = [], byAccessor accessor: (URL, URL) throws -> Value
    ) throws -> Value {
        try accessBlocking({ [try .init(firstURL, .write(firstOptions.checked)), try .init(secondURL, .write(secondOptions.checked))] }) {
            try accessor($0[0], $0[1])
        }
    }
}
