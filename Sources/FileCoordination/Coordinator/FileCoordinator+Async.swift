public import Foundation

// Use these forms in new code. They run the accessor on the caller's actor at most once, return its result, and throw
// its errors. If the task is cancelled while it waits, they throw `CancellationError`.
extension FileCoordinator {
    /// Reads an item after all writers of it have finished.
    ///
    /// - Parameters:
    ///   - url: the item; it need not exist.
    ///   - options: the reading options.
    ///   - deadline: the limit of the wait; nil waits without limit.
    ///   - accessor: reads the item at the given URL, which differs from `url` if the item has moved meanwhile.
    /// - Returns: the accessor's result.
    /// - Throws: the accessor's error; ``FileCoordinationError`` when the accessor was not run, with the ``WaitStep``s
    ///   of the access if it waited too long; a presenter's own error if the presenter refused; `CancellationError`.
    nonisolated(nonsending) public func read<Value>(
        _ url: URL, options: ReadingOptions = [], deadline: Deadline? = nil,
        accessor: nonisolated(nonsending) (URL) async throws -> Value
    ) async throws -> Value {
        try await access({ [try .init(url, .read(options))] }, deadline: deadline) { urls in try await accessor(urls[0]) }
    }

    /// Writes, creates, moves or deletes an item after all other readers and writers of it have finished.
    ///
    /// - Parameters:
    ///   - url: the item; it need not exist.
    ///   - options: at most one option; more are a programming error.
    ///   - deadline: the limit of the wait; nil waits without limit.
    ///   - accessor: writes the item at the given URL, which differs from `url` if the item has moved meanwhile.
    /// - Returns: the accessor's result.
    /// - Throws: as ``read(_:options:deadline:accessor:)``.
    nonisolated(nonsending) public func write<Value>(
        _ url: URL, options: WritingOptions = [], deadline: Deadline? = nil,
        accessor: nonisolated(nonsending) (URL) async throws -> Value
    ) async throws -> Value {
        try await access({ [try .init(url, .write(options.checked))] }, deadline: deadline) { urls in try await accessor(urls[0]) }
    }

    /// Reads one item and writes another; one claim covers both, so two such accesses never deadlock.
    ///
    /// - Parameters:
    ///   - readingURL: the item to read.
    ///   - readingOptions: the reading options.
    ///   - writingURL: the item to write.
    ///   - writingOptions: at most one option.
    ///   - deadline: the limit of the wait; nil waits without limit.
    ///   - accessor: gets both URLs in this order.
    /// - Returns: the accessor's result.
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

    /// Writes two items, for example to move one; one claim covers both, so two such accesses never deadlock.
    ///
    /// - Parameters:
    ///   - firstURL: an item, such as the item to move.
    ///   - firstOptions: at most one option, such as `forMoving`.
    ///   - secondURL: another item, such as the destination.
    ///   - secondOptions: at most one option, such as `forReplacing`.
    ///   - deadline: the limit of the wait; nil waits without limit.
    ///   - accessor: gets both URLs in this order.
    /// - Returns: the accessor's result.
    /// - Throws: as ``read(_:options:deadline:accessor:)``.
    nonisolated(nonsending) public func write<Value>(
        _ firstURL: URL, options firstOptions: WritingOptions = [], writing secondURL: URL, writingOptions secondOptions: WritingOptions = [],
        deadline: Deadline? = nil, accessor: nonisolated(nonsending) (URL, URL) async throws -> Value
    ) async throws -> Value {
        try await access(
            { [try .init(firstURL, .write(firstOptions.checked)), try .init(secondURL, .write(secondOptions.checked))] }, deadline: deadline
        ) { urls in try await accessor(urls[0], urls[1]) }
    }

    /// Accesses any number of items under one claim.
    ///
    /// - Parameters:
    ///   - intents: the items; when the accessor runs, each intent's `url` is the current URL of its item.
    ///   - deadline: the limit of the wait; nil waits without limit.
    ///   - accessor: accesses the items at their intents' URLs.
    /// - Returns: the accessor's result.
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
    /// The options, after a check that there is at most one.
    var checked: Self {
        precondition(rawValue.nonzeroBitCount <= 1, "At most one writing option may be given, not \(names.joined(separator: " and "))")
        return self
    }

    private var names: [String] {
        let all: [(Self, String)] = [
            (.forDeleting, "forDeleting"), (.forMoving, "forMoving"), (.forMerging, "forMerging"), (.forReplacing, "forReplacing"),
            (.contentIndependentMetadataOnly, "contentIndependentMetadataOnly"), (.forEvicting, "forEvicting"),
        ]
        return all.filter { contains($0.0) }.map(\.1)
    }
}
