public import Foundation

// Forms for ported code. They block the calling thread until the access is granted and run the accessor on it, at most once (C-47). Not
// to be called on the main thread or in a presenter's method, which debug builds warn about.
extension FileCoordinator {
    /// Reads an item, blocking until nobody writes it.
    ///
    /// - Parameters:
    ///   - url: the item; it need not exist.
    ///   - options: how it is to be read.
    ///   - accessor: reads the item at the URL that it is given.
    /// - Returns: what the accessor returns.
    /// - Throws: what the accessor throws; ``FileCoordinationError`` or a presenter's own error when it was not run.
    @available(*, noasync, message: "Use read(_:options:deadline:accessor:).")
    public func coordinate<Value>(
        readingItemAt url: URL, options: ReadingOptions = [], byAccessor accessor: (URL) throws -> Value
    ) throws -> Value {
        try accessBlocking({ [try .init(url, .read(options))] }) { try accessor($0[0]) }
    }

    /// Writes an item, blocking until nobody else reads or writes it.
    ///
    /// - Parameters:
    ///   - url: the item; it need not exist.
    ///   - options: at most one; more are a programmer's error (C-26).
    ///   - accessor: writes the item at the URL that it is given.
    /// - Returns: what the accessor returns.
    /// - Throws: as ``coordinate(readingItemAt:options:byAccessor:)``.
    @available(*, noasync, message: "Use write(_:options:deadline:accessor:).")
    public func coordinate<Value>(
        writingItemAt url: URL, options: WritingOptions = [], byAccessor accessor: (URL) throws -> Value
    ) throws -> Value {
        try accessBlocking({ [try .init(url, .write(options.checked))] }) { try accessor($0[0]) }
    }

    /// Reads one item and writes another, both claimed at once (C-48).
    ///
    /// - Parameters:
    ///   - readingURL: the item to read.
    ///   - readingOptions: how it is to be read.
    ///   - writingURL: the item to write.
    ///   - writingOptions: at most one.
    ///   - accessor: gets both URLs in this order.
    /// - Returns: what the accessor returns.
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

    /// Writes two items, both claimed at once (C-48); the form for moves.
    ///
    /// - Parameters:
    ///   - firstURL: an item, such as what is to be moved.
    ///   - firstOptions: at most one, such as `forMoving`.
    ///   - secondURL: another item, such as the place to move to.
    ///   - secondOptions: at most one, such as `forReplacing`.
    ///   - accessor: gets both URLs in this order.
    /// - Returns: what the accessor returns.
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
