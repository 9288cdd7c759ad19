public import SystemPackage

/// Who can tell how a container's items stand: the transport that moves them, or without one ``LocalItemStatus``.
///
/// ```swift
/// for await change in source.changes() {
///     if case .item(let path) = change { print(path, try await source.status(of: path)) }
/// }
/// ```
public protocol ItemStatusSource: Sendable {
    /// Tells how an item stands.
    ///
    /// A transport that does not answer is no error: the status is unknown meanwhile.
    ///
    /// - Parameter item: an absolute path in the container; nothing need be there.
    /// - Returns: its status now.
    /// - Throws: `ContainerError` with `notInContainer`; the transport's own error where it is set up in such a way that it can never tell;
    ///   `CancellationError` as soon as the task is cancelled.
    func status(of item: FilePath) async throws -> ItemStatus

    /// Tells how several items stand, for less than one by one.
    ///
    /// - Parameter items: absolute paths in the container.
    /// - Returns: a status for each.
    /// - Throws: what `status(of:)` throws, for the first item that fails.
    func statuses(of items: [FilePath]) async throws -> [FilePath: ItemStatus]

    /// Tells when to ask again.
    ///
    /// Each call begins a sequence of its own, for one reader. Its first element is always `below` for the whole container, so that a late
    /// observer misses nothing. A reader that is slow is told of more at once, never of less. The sequence ends with the reader's task.
    ///
    /// - Returns: the changes from now on.
    func changes() -> AsyncStream<ItemStatusChange>
}

extension ItemStatusSource {
    /// Asks one by one.
    public func statuses(of items: [FilePath]) async throws -> [FilePath: ItemStatus] {
        var statuses: [FilePath: ItemStatus] = [:]
        for item in items { statuses[item] = try await status(of: item) }
        return statuses
    }
}

/// Items whose status may be another now.
public enum ItemStatusChange: Sendable, Hashable {
    /// One item.
    case item(FilePath)
    /// Whatever lies at or below a directory.
    case below(FilePath)
}
