public import SystemPackage

/// One change of a watched tree.
///
/// A view into its batch: ``path`` and ``from`` are built on demand, so a reader that only counts needs no path.
public struct TreeChange: Sendable, Equatable, CustomStringConvertible {
    /// The kind of a change.
    public enum Kind: Sendable, Hashable {
        /// Everything below the root is watched. Each subscription begins with it, at once if the tree is already
        /// watched.
        case ready
        /// An entry appeared.
        case created
        /// A file's content changed, or another file was renamed over it; then ``TreeChange/from`` is the old name of
        /// that file.
        case modified
        /// An entry was removed.
        case removed
        /// An entry has another path; ``TreeChange/from`` is the old one. Entries below a directory move with it,
        /// without their own changes.
        case moved
        /// Permissions, owner, times or extended attributes changed (only with ``TreeWatcher/Options/attributes``).
        case attributes
        /// Events were lost, in the kernel's queue or in a slow reader's buffer; the differences follow, then
        /// ``rescanned``.
        case overflow
        /// All differences since ``overflow`` have been reported.
        case rescanned
        /// The root is no longer at its path.
        case rootLost(RootLoss)
        /// The root is at its path again; the differences to the earlier state follow.
        case rootBack
    }

    /// The reason for the loss of a root.
    public enum RootLoss: UInt8, Sendable, Hashable {
        /// It was deleted.
        case deleted
        /// It, or a directory above it, was moved away or replaced.
        case moved
        /// Its file system was unmounted.
        case unmounted
        /// It exists but cannot be watched: its permissions or the watch limit prevent it.
        case unwatchable
        /// It has not been there since watching began; only where ``TreeWatcher/Options/awaitsRoot`` allows that.
        case absent
    }

    let batch: TreeChangeBatch
    let record: TreeChangeRecord

    /// The change's place in the order of all changes of its watcher; ticks grow by one, and skip changes that were
    /// combined.
    public var tick: UInt64 { record.tick }
    /// The time when the change was read from the kernel, since 1970-01-01 00:00 UTC, with a resolution of
    /// microseconds.
    public var time: Duration { .nanoseconds(record.time) }
    /// The kind of the change.
    public var kind: Kind { record.kind }
    /// Whether the entry is a directory.
    public var isDirectory: Bool { record.isDirectory }
    /// The entry's absolute path, byte for byte; the root's path for changes of the whole tree.
    public var path: FilePath { batch.path(of: record) }
    /// The old path of a moved entry, or of the file that was renamed over this one.
    public var from: FilePath? { batch.source(of: record) }

    /// Whether a move is half of an exchange, renameat2(2): the entry from ``path`` is now at ``from``; its own move
    /// comes directly after or before this one.
    public var isExchange: Bool { record.isExchange }

    /// Calls a closure with the absolute path's bytes, for writers that need no `FilePath`.
    /// - Parameter body: Called with the bytes, which are valid only inside it.
    /// - Returns: The result of `body`.
    public func withPathBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { batch.pathBytes(of: record).withUnsafeBytes(body) }

    /// Calls a closure with the absolute bytes of ``from``.
    /// - Parameter body: Called with the bytes, which are valid only inside it.
    /// - Returns: The result of `body`; nil if there is no old path.
    public func withSourceBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R? { batch.sourceBytes(of: record)?.withUnsafeBytes(body) }

    /// Two changes are equal if all their properties are.
    public static func == (a: TreeChange, b: TreeChange) -> Bool {
        a.tick == b.tick && a.kind == b.kind && a.isDirectory == b.isDirectory && a.path == b.path && a.from == b.from
    }

    /// Kind and paths, for logs and failed expectations.
    public var description: String { "\(tick) \(kind) \(path)\(isDirectory ? "/" : "")\(from.map { " from \($0)" } ?? "")" }
}

/// The fixed part of a change, 48 bytes; the paths are in the batch's bytes.
struct TreeChangeRecord: Sendable {
    /// ``TreeChange/Kind`` in a byte, with the kinds that only the reduction needs.
    enum Code: UInt8 {
        case ready, created, modified, removed, moved, attributes, overflow, rescanned, rootLost, rootBack
        /// A writer closed the file; never reported.
        case closed
        /// An entry appeared for which no close will come: linked, renamed in or found by a scan; reported as created.
        case arrived
        /// An entry below a directory that moved, at its new path; shown as created where the old one was not seen.
        case enters
        /// An entry below a directory that moved, at its old path; shown as removed where the new one is not seen.
        case leaves
    }

    var tick: UInt64
    var time: Int64
    var directoryOffset: UInt32 = 0
    var directoryLength: UInt32 = 0
    var nameOffset: UInt32 = 0
    var sourceOffset: UInt32 = 0
    var sourceLength: UInt32 = 0
    var nameLength: UInt8 = 0
    var code: Code
    var isDirectory = false
    var loss: TreeChange.RootLoss = .deleted
    var hasSource = false
    var isExchange = false

    var kind: TreeChange.Kind {
        switch code {
        case .ready: .ready
        case .created, .arrived, .enters: .created
        case .modified, .closed: .modified
        case .removed, .leaves: .removed
        case .moved: .moved
        case .attributes: .attributes
        case .overflow: .overflow
        case .rescanned: .rescanned
        case .rootLost: .rootLost(loss)
        case .rootBack: .rootBack
        }
    }
}
