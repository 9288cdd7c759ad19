public import Foundation

// The forms to use in new code. All of them return what the accessor returns and throw what it throws, run it on the caller's actor at
// most once, and throw `CancellationError` when the task is cancelled while it waits.
extension FileCoordinator {
    /// Reads an item, once nobody writes it.
    ///
    /// - Parameters:
    ///   - url: the item; it need not exist.
    ///   - options: how it is to be read.
    ///   - deadline: when to give up waiting; nil waits without limit.
    ///   - accessor: reads the item at the URL that it is given, which differs from `url` when the item has moved meanwhile (C-41).
    /// - Returns: what the accessor returns.
    /// - Throws: what the accessor throws; ``FileCoordinationError`` when it was not run, with ``WaitStep``s that tell for whom the access
    ///   waited if that was the reason; a presenter's own error if one refused; `CancellationError`.
    nonisolated(nonsending) public func read<Value>(
        _ url: URL, options: ReadingOptions = [], deadline: Deadline? = nil,
        accessor: nonisolated(nonsending) (URL) async throws -> Value
    ) async throws -> Value {
        try await access({ [try .init(url, .read(options))] }, deadline: deadline) { urls in try await accessor(urls[0]) }
    }

    /// Writes, creates, moves or deletes an item, once nobody else reads or writes it.
    ///
    /// - Parameters:
    ///   - url: the item; it need not exist.
    ///   - options: at most one; more are a programmer's error (C-26).
    ///   - deadline: when to give up waiting; nil waits without limit.
    ///   - accessor: writes the item at the URL that it is given, which differs from `url` when the item has moved meanwhile (C-41).
    /// - Returns: what the accessor returns.
    /// - Throws: as ``read(_:options:deadline:accessor:)``.
    nonisolated(nonsending) public func write<Value>(
        _ url: URL, options: WritingOptions = [], deadline: Deadline? = nil,
        accessor: nonisolated(nonsending) (URL) async throws -> Value
    ) async throws -> Value {
        try await access({ [try .init(url, .write(options.checked))] }, deadline: deadline) { urls in try await accessor(urls[0]) }
    }

    /// Reads one item and writes another, both claimed at once, so that two such accesses never deadlock (C-48).
    ///
    /// - Parameters:
    ///   - readingURL: the item to read.
    ///   - readingOptions: how it is to be read.
    ///   - writingURL: the item to write.
    ///   - writingOptions: at most one.
    ///   - deadline: when to give up waiting; nil waits without limit.
    ///   - accessor: gets both URLs in this order.
    /// - Returns: what the accessor returns.
    /// - Throws: as ``read(_:options:deadline:accessor:)``.
    nonisolated(nonsending) public func read<Value>(
        _ readingURL: URL, options readingOptions: ReadingOptions = [], writing writingURL: URL,
        writingOptions: WritingOptions = [], deadline: Deadline? = nil,
        accessor: nonisolated(nonsending) (URL, URL) async throws -> Value
    ) async throws -> Value {
        try await access(
            { [try .init(readingURL, .read(readingOptions)), try .init(writingURL, .write(writingOptions.checked))] }, deadline: deadline
        ) { urls in try await accessor(urls[0], urls[1]) }
    }

    /// Writes two items, both claimed at once, so that two such accesses never deadlock (C-48); the form for moves.
    ///
    /// - Parameters:
    ///   - firstURL: an item, such as what is to be moved.
    ///   - firstOptions: at most one, such as `forMoving`.
    ///   - secondURL: another item, such as the place to move to.
    ///   - secondOptions: at most one, such as `forReplacing`.
    ///   - deadline: when to give up waiting; nil waits without limit.
    ///   - accessor: gets both URLs in this order.
    /// - Returns: what the accessor returns.
    /// - Throws: as ``read(_:options:deadline:accessor:)``.
    nonisolated(nonsending) public func write<Value>(
        _ firstURL: URL, options firstOptions: WritingOptions = [], writing secondURL: URL, writingOptions secondOptions: WritingOptions = [],
        deadline: Deadline? = nil, accessor: nonisolated(nonsending) (URL, URL) async throws -> Value
    ) async throws -> Value {
        try await access(
            { [try .init(firstURL, .write(firstOptions.checked)), try .init(secondURL, .write(secondOptions.checked))] }, deadline: deadline
        ) { urls in try await accessor(urls[0], urls[1]) }
    }

    /// Accesses any number of items, all claimed at once (C-48).
    ///
    /// - Parameters:
    ///   - intents: the items; when the accessor runs, each intent's `url` is where its item is.
    ///   - deadline: when to give up waiting; nil waits without limit.
    ///   - accessor: accesses the items at their intents' URLs.
    /// - Returns: what the accessor returns.
    /// - Throws: as ``read(_:options:deadline:accessor:)``.
    nonisolated(nonsending) public func coordinate<Value>(
        with intents: [FileAccessIntent], deadline: Deadline? = nil, accessor: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        guard !intents.isEmpty else { return try await accessor() }
        return try await access({ try intents.map { try .init($0.url, $0.access) } }, deadline: deadline) { urls in
            for (intent, url) in zip(intents, urls) { intent.url = url }
            return try await accessor()
        }
    }
}

extension FileCoordinator.WritingOptions {
    /// The options, known to be at most one (C-26).
    var checked: Self {
        precondition(rawValue.nonzeroBitCount <= 1, "At most one writing option may be given, not \(names.joined(separator: " and "))")
        return self
    }

    private var names: [String] {
        let all: [(Self, String)] = [
            (.forDeleting, "forDeleting"), (.forMoving, "forMoving"), (.forMerging, "forMerging"), (.forReplacing, "forReplacing"),
            (.contentIndependentMetadataOnly, "contentIndependentMetadataOnly"),
        ]
        return all.filter { contains($0.0) }.map(\.1)
    }
}
