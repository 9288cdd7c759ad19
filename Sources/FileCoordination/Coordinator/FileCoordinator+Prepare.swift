public import Foundation
import Synchronization

extension FileCoordinator {
    /// Asks the presenters of items, and of everything inside them, once before many accesses.
    ///
    /// The preparation excludes no other access. The accesses inside the accessor claim the items that they need,
    /// typically for reading with ``ReadingOptions/withoutChanges``, because presenters have already saved.
    ///
    /// - Parameters:
    ///   - readingURLs: items to read.
    ///   - readingOptions: the reading options; `resolvesSymbolicLink` is a programming error here.
    ///   - writingURLs: items to write.
    ///   - writingOptions: at most one option; `forReplacing` is a programming error here.
    ///   - deadline: the limit of the wait for presenters; nil waits without limit.
    ///   - accessor: makes the accesses.
    /// - Returns: the accessor's result.
    /// - Throws: as ``read(_:options:deadline:accessor:)``.
    nonisolated(nonsending) public func prepare<Value>(
        reading readingURLs: [URL], options readingOptions: ReadingOptions = [], writing writingURLs: [URL] = [],
        writingOptions: WritingOptions = [], deadline: Deadline? = nil, accessor: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        guard !readingURLs.isEmpty || !writingURLs.isEmpty else { return try await accessor() }
        return try await access(
            { try Self.preparation(readingURLs, readingOptions, writingURLs, writingOptions) }, deadline: deadline, isPreparation: true
        ) { _ in try await accessor() }
    }

    /// Asks the presenters of items once before many accesses, blocking until they have answered.
    ///
    /// - Parameters:
    ///   - readingURLs: items to read.
    ///   - readingOptions: the reading options; `resolvesSymbolicLink` is a programming error here.
    ///   - writingURLs: items to write.
    ///   - writingOptions: at most one option; `forReplacing` is a programming error here.
    ///   - accessor: makes the accesses, and calls the given closure after them, on any thread, even after it has
    ///     returned. Releasing the closure has the same effect.
    /// - Throws: as ``coordinate(readingItemAt:options:byAccessor:)``.
    @available(*, noasync, message: "Use prepare(reading:options:writing:writingOptions:deadline:accessor:).")
    public func prepare(
        forReadingItemsAt readingURLs: [URL], options readingOptions: ReadingOptions = [], writingItemsAt writingURLs: [URL] = [],
        options writingOptions: WritingOptions = [], byAccessor accessor: (@escaping @Sendable () -> Void) throws -> Void
    ) throws {
        guard !readingURLs.isEmpty || !writingURLs.isEmpty else { return try accessor {} }
        warnOfBlocking()
        let run = try AccessRun(
            self, Self.preparation(readingURLs, readingOptions, writingURLs, writingOptions), isPreparation: true)
        let grant = try run.immediate ?? client.waitBlocking(for: run.id)
        guard let opened = try run.open(grant) else { return }
        let completion = Completion { run.close(opened) }
        try CoordinationContext.$current.withValue(run.context) { try accessor { completion.call() } }
    }

    private static func preparation(
        _ readingURLs: [URL], _ readingOptions: ReadingOptions, _ writingURLs: [URL], _ writingOptions: WritingOptions
    ) throws -> [AccessRun.Target] {
        precondition(!readingOptions.contains(.resolvesSymbolicLink), "Preparing with resolvesSymbolicLink is not possible")
        precondition(!writingOptions.contains(.forReplacing), "Preparing with forReplacing is not possible")
        return try readingURLs.map { try .init($0, .read(readingOptions)) }
            + writingURLs.map { try .init($0, .write(writingOptions.checked)) }
    }
}

/// Runs a closure once: when it is called, or when the last reference to it is released.
private final class Completion: Sendable {
    private let action: Mutex<(@Sendable () -> Void)?>

    init(_ action: @escaping @Sendable () -> Void) {
        self.action = Mutex(action)
    }

    func call() {
        action.withLock { action in
            defer { action = nil }
            return action
        }?()
    }

    deinit { call() }
}
