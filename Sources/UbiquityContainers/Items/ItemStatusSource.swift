public import SystemPackage

/// A source of the statuses of a container's items: the transport that moves them, or ``LocalItemStatus`` without one.
///
/// ```swift
/// for await change in source.changes() {
///     if case .item(let path) = change { print(path, try await source.status(of: path)) }
/// }
/// ```
public protocol ItemStatusSource: Sendable {
    /// Returns the status of an item.
    ///
    /// It is no error if a transport does not answer: the status is then unknown.
    ///
    /// - Parameter item: an absolute path in the container; the item need not exist.
    /// - Returns: its current status.
    /// - Throws: `ContainerError` with `notInContainer`; the transport's own error if its configuration makes any
    ///   answer impossible; `CancellationError` as soon as the task is cancelled.
    func status(of item: FilePath) async throws -> ItemStatus

    /// Returns the statuses of several items, at less cost than one by one.
    ///
    /// - Parameter items: absolute paths in the container.
    /// - Returns: a status for each item.
    /// - Throws: the error of `status(of:)` for the first item that fails.
    func statuses(of items: [FilePath]) async throws -> [FilePath: ItemStatus]

    /// Tells when to ask again.
    ///
    /// Each call begins a new sequence for one reader. Its first element is always `below` for the whole container, so
    /// that a late observer misses nothing. A slow reader gets wider changes, but none are lost. The sequence ends with
    /// the reader's task.
    ///
    /// - Returns: the changes from now on.
    func changes() -> AsyncStream<ItemStatusChange>
}

extension ItemStatusSource {
    /// Returns the statuses one by one.
    public func statuses(of items: [FilePath]) async throws -> [FilePath: ItemStatus] {
        var statuses: [FilePath: ItemStatus] = [:]
        for item in items { statuses[item] = try await status(of: item) }
        return statuses
    }
}

/// Items whose status may have changed.
public enum ItemStatusChange: Sendable, Hashable {
    /// One item.
    case item(FilePath)
    /// Everything at or below a directory.
    case below(FilePath)
}
