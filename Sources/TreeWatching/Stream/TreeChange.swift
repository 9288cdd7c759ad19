public import SystemPackage

/// One change of a watched tree.
///
/// A view into its batch: ``path`` and ``from`` are built when asked for, so a reader that only counts pays for no path.
public struct TreeChange: Sendable, Equatable, CustomStringConvertible {
    /// What a change is.
    public enum Kind: Sendable, Hashable {
        /// Everything below the root is watched. Each subscription begins with it, at once where the tree is already watched.
        case ready
        /// An entry appeared.
        case created
        /// A file's content changed, or another file was renamed over it; then ``TreeChange/from`` is the old name.
        case modified
        /// An entry is gone.
        case removed
        /// An entry has another path; ``TreeChange/from`` is the old one. Entries below a directory move with it, without changes of their own.
        case moved
        /// Permissions, owner, times or extended attributes changed (only where ``TreeWatcher/Options/attributes`` asks for it).
        case attributes
        /// Events were lost, by the kernel's queue or by a slow reader's buffer; the differences follow, then ``rescanned``.
        case overflow
        /// The differences since ``overflow`` have all been given.
        case rescanned
        /// The root is no longer at its path.
        case rootLost(RootLoss)
        /// The root is at its path again; the differences to what was known before follow.
        case rootBack
    }

    /// Why a root is lost.
    public enum RootLoss: UInt8, Sendable, Hashable {
        /// It was deleted.
        case deleted
        /// It, or a directory above it, was moved away or replaced.
        case moved
        /// Its file system was unmounted.
        case unmounted
        /// It is there, but it cannot be watched: its permissions or the watch limit forbid it.
        case unwatchable
        /// It has not been there since watching began; only where ``TreeWatcher/Options/awaitsRoot`` allows that.
        case absent
    }

    let batch: TreeChangeBatch
    let record: TreeChangeRecord

    /// The change's place in the order of all changes of its watcher; it grows by one from change to change, and skips what was combined.
    public var tick: UInt64 { record.tick }
    /// When the change was read from the kernel, since 1970-01-01 00:00 UTC, at a resolution of microseconds.
    public var time: Duration { .nanoseconds(record.time) }
    /// What changed.
    public var kind: Kind { record.kind }
    /// Whether the entry is a directory.
    public var isDirectory: Bool { record.isDirectory }
    /// The entry's absolute path, byte for byte; the root's own for changes that concern the whole tree.
    public var path: FilePath { batch.path(of: record) }
    /// The old path of what was moved, or of the file that was renamed over this one.
    public var from: FilePath? { batch.source(of: record) }

    /// Whether a move is half of an exchange, renameat2(2): what stood at ``path`` stands at ``from`` now; its own move comes next, or came just before.
    public var isExchange: Bool { record.isExchange }

    /// The path's bytes, absolute, for writers that pass them on without a `FilePath`.
    /// - Parameter body: Called with the bytes, which are valid inside it only.
    /// - Returns: What `body` returns.
    public func withPathBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { batch.pathBytes(of: record).withUnsafeBytes(body) }

    /// The bytes of ``from``, absolute.
    /// - Parameter body: Called with the bytes, which are valid inside it only.
    /// - Returns: What `body` returns; nil where there is no old path.
    public func withSourceBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R? { batch.sourceBytes(of: record)?.withUnsafeBytes(body) }

    /// Two changes are equal when everything they show is.
    public static func == (a: TreeChange, b: TreeChange) -> Bool {
        a.tick == b.tick && a.kind == b.kind && a.isDirectory == b.isDirectory && a.path == b.path && a.from == b.from
    }

    /// Kind and paths, for logs and failed expectations.
    public var description: String { "\(tick) \(kind) \(path)\(isDirectory ? "/" : "")\(from.map { " from \($0)" } ?? "")" }
}

/// The fixed part of a change, 48 bytes; the paths lie in the batch's bytes.
struct TreeChangeRecord: Sendable {
    /// ``TreeChange/Kind`` in a byte, and what only the reduction needs to know.
    enum Code: UInt8 {
        case ready, created, modified, removed, moved, attributes, overflow, rescanned, rootLost, rootBack
        /// A writer closed the file; shown to nobody.
        case closed
        /// An entry appeared for which no close will come: linked, renamed in or found by a scan; shown as created.
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
