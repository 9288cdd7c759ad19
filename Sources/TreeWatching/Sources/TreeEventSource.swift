public import SystemPackage

/// A source of raw events of directories: the kernel, a helper program, or a script.
///
/// The watcher maintains the tree: a source only provides watches on single directories, their events in the layout of
/// inotify(7), and listings. The watcher calls its functions from one thread at a time.
public protocol TreeEventSource: Sendable {
    /// A descriptor that poll(2) finds readable when ``read(into:)`` has events.
    var descriptor: CInt { get }

    /// Whether ``read(into:)`` has events that ``descriptor`` does not show; false by default.
    var hasEvents: Bool { get }

    /// Watches a directory, as inotify_add_watch(2) does: a directory that is already watched returns its known watch
    /// descriptor.
    /// - Parameters:
    ///   - path: The directory's absolute path, ended by a zero byte; it may be longer than `PATH_MAX`.
    ///   - mask: inotify(7) bits.
    /// - Returns: The watch descriptor.
    /// - Throws: The system's error.
    func addWatch(_ path: UnsafePointer<CChar>, mask: UInt32) throws(Errno) -> Int32

    /// Ends a watch.
    /// - Parameter watch: A watch descriptor.
    /// - Returns: Whether it was in use; the kernel itself ends the watch of a deleted directory.
    @discardableResult
    func removeWatch(_ watch: Int32) -> Bool

    /// Returns events that have been raised, only whole ones, without waiting.
    /// - Parameter buffer: Filled with `struct inotify_event`s; at least 4 KiB.
    /// - Returns: The number of bytes filled; 0 if there are no events.
    /// - Throws: ``TreeWatchingError`` when the source has ended.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TreeWatchingError) -> Int

    /// Returns when ``read(into:)`` can return every event that was raised before the call.
    func synchronise()

    /// Lists a directory.
    /// - Parameters:
    ///   - path: The directory's absolute path, ended by a zero byte; it may be longer than `PATH_MAX`.
    ///   - listing: Receives the entries, without `.` and `..`; files with their stamps.
    ///   - pause: Called from time to time in a long listing, so that events can be read meanwhile.
    /// - Throws: The system's error.
    func list(_ path: UnsafePointer<CChar>, into listing: inout DirectoryListing, pause: () -> Void) throws(Errno)

    /// Inspects one entry.
    /// - Parameters:
    ///   - path: The entry's absolute path, ended by a zero byte; it may be longer than `PATH_MAX`.
    ///   - followingLinks: Whether to follow a symbolic link, as stat(2) does, or to inspect the link itself, as
    ///     lstat(2) does.
    /// - Returns: The status of the entry.
    /// - Throws: The system's error.
    func status(of path: UnsafePointer<CChar>, followingLinks: Bool) throws(Errno) -> EntryStatus

    /// Ends the source; no other call follows.
    func close()
}

extension TreeEventSource {
    /// The default for a source whose descriptor shows all events.
    public var hasEvents: Bool { false }
}

/// A source whose read itself can wait.
protocol BlockingEventSource: TreeEventSource {
    /// Prepares a wait that can be interrupted; false if that is not possible now, and poll(2) must be used.
    func prepareToWait() -> Bool

    /// Waits for events and returns them; returns none if a signal interrupted the wait.
    func waitAndRead(into buffer: UnsafeMutableRawBufferPointer) -> Int

    /// Ends the prepared wait, now or when it begins, with an event that concerns no tree; any thread may call it.
    func interrupt()
}

/// The properties of a directory entry that watching needs.
public struct EntryStatus: Sendable, Hashable {
    /// Whether it is a directory; a symbolic link to one is not.
    public var isDirectory: Bool
    /// The stamp that distinguishes its contents.
    public var stamp: FileStamp
    /// Whether a close after writing is expected after its creation: a regular file with one link.
    public var closesAfterWriting: Bool
    /// Distinguishes file system objects: a digest of device and inode.
    public var identity: UInt64

    /// Makes a status from its parts.
    /// - Parameters:
    ///   - isDirectory: Whether it is a directory.
    ///   - stamp: The stamp that distinguishes its contents.
    ///   - closesAfterWriting: Whether it is a regular file with one link.
    ///   - identity: A digest of device and inode.
    public init(isDirectory: Bool, stamp: FileStamp, closesAfterWriting: Bool = true, identity: UInt64 = 0) {
        self.isDirectory = isDirectory
        self.stamp = stamp
        self.closesAfterWriting = closesAfterWriting
        self.identity = identity
    }
}

/// The entries of a directory, in one buffer that several listings reuse.
public struct DirectoryListing: Sendable {
    struct Entry {
        var nameOffset: UInt32
        var nameLength: UInt8
        var isDirectory: Bool
        var stamp: FileStamp
        var changed: Int64
    }

    private(set) var entries: ContiguousArray<Entry> = []
    private var names: ContiguousArray<UInt8> = []
    /// Distinguishes the listed directory from others: the low bits of its inode number.
    public var identity: UInt32 = 0

    /// Makes an empty listing.
    public init() {}

    /// Adds an entry.
    /// - Parameters:
    ///   - name: The name's bytes, 1 to 255.
    ///   - isDirectory: Whether it is a directory; a symbolic link to one is not.
    ///   - stamp: A file's stamp; unused for directories.
    ///   - changed: A file's time of last status change, nanoseconds since 1970.
    public mutating func append(_ name: UnsafeRawBufferPointer, isDirectory: Bool, stamp: FileStamp, changed: Int64) {
        let offset = UInt32(names.count)
        entries.append(Entry(nameOffset: offset, nameLength: UInt8(name.count), isDirectory: isDirectory, stamp: stamp, changed: changed))
        names.append(contentsOf: name)
    }

    /// Empties the listing and keeps its memory.
    public mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        names.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    func withName<R>(of entry: Entry, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        names.withUnsafeBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[Int(entry.nameOffset)..<(Int(entry.nameOffset) + Int(entry.nameLength))]))
        }
    }
}
