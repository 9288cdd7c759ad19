public import SystemPackage

/// Where the raw events of directories come from: the kernel, a helper program, or a script.
///
/// The tree is always the watcher's own: a source knows watches on single directories, their events in the layout of inotify(7), and listings.
/// Its functions are called from one thread at a time.
public protocol TreeEventSource: Sendable {
    /// A descriptor that poll(2) finds readable when ``read(into:)`` has something to give.
    var descriptor: CInt { get }

    /// Whether ``read(into:)`` has something to give of which ``descriptor`` tells nothing; false unless a source says otherwise.
    var hasEvents: Bool { get }

    /// Watches a directory, as inotify_add_watch(2) does: a directory that is watched already gives its known watch descriptor again.
    /// - Parameters:
    ///   - path: The directory's absolute path, ended by a zero byte; it may be longer than `PATH_MAX`.
    ///   - mask: inotify(7) bits.
    /// - Returns: The watch descriptor.
    /// - Throws: The system's error.
    func addWatch(_ path: UnsafePointer<CChar>, mask: UInt32) throws(Errno) -> Int32

    /// Ends a watch.
    /// - Parameter watch: A watch descriptor.
    /// - Returns: Whether it was in use; the kernel ends the watch of a deleted directory by itself.
    @discardableResult
    func removeWatch(_ watch: Int32) -> Bool

    /// Gives events that have been raised, whole ones only, and never waits.
    /// - Parameter buffer: Filled with `struct inotify_event`s; at least 4 KiB.
    /// - Returns: The bytes filled; 0 when there are none.
    /// - Throws: ``TreeWatchingError`` when the source is at its end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TreeWatchingError) -> Int

    /// Returns when ``read(into:)`` can give every event that was raised before the call.
    func synchronise()

    /// Lists a directory.
    /// - Parameters:
    ///   - path: The directory's absolute path, ended by a zero byte; it may be longer than `PATH_MAX`.
    ///   - listing: Receives the entries, without `.` and `..`; files with their stamps.
    ///   - pause: Called every now and then in a long listing, so that events can be read meanwhile.
    /// - Throws: The system's error.
    func list(_ path: UnsafePointer<CChar>, into listing: inout DirectoryListing, pause: () -> Void) throws(Errno)

    /// Looks at one entry.
    /// - Parameters:
    ///   - path: The entry's absolute path, ended by a zero byte; it may be longer than `PATH_MAX`.
    ///   - followingLinks: Whether a symbolic link is followed, as stat(2) does, or looked at itself, as lstat(2) does.
    /// - Returns: What is there.
    /// - Throws: The system's error.
    func status(of path: UnsafePointer<CChar>, followingLinks: Bool) throws(Errno) -> EntryStatus

    /// Ends the source; nothing is called afterwards.
    func close()
}

extension TreeEventSource {
    /// A source of which all events are told by its descriptor.
    public var hasEvents: Bool { false }
}

/// A source that can be waited for in its read itself.
protocol BlockingEventSource: TreeEventSource {
    /// Makes a wait possible that can be interrupted; false where it cannot be now, and poll(2) is to be used.
    func prepareToWait() -> Bool

    /// Waits for events and gives them; gives none where the wait was interrupted by a signal.
    func waitAndRead(into buffer: UnsafeMutableRawBufferPointer) -> Int

    /// Ends the wait that was prepared, now or when it begins, with an event that concerns no tree; called from any thread.
    func interrupt()
}

/// What a directory entry is, as far as watching cares.
public struct EntryStatus: Sendable, Hashable {
    /// Whether it is a directory; a symbolic link to one is not.
    public var isDirectory: Bool
    /// What tells its content from another.
    public var stamp: FileStamp
    /// Whether a close after writing is to be expected of it once it has been created: a regular file with one link.
    public var closesAfterWriting: Bool
    /// What tells the file system object from others: a digest of device and inode.
    public var identity: UInt64

    /// A status from its parts.
    /// - Parameters:
    ///   - isDirectory: Whether it is a directory.
    ///   - stamp: What tells its content from another.
    ///   - closesAfterWriting: Whether it is a regular file with one link.
    ///   - identity: A digest of device and inode.
    public init(isDirectory: Bool, stamp: FileStamp, closesAfterWriting: Bool = true, identity: UInt64 = 0) {
        self.isDirectory = isDirectory
        self.stamp = stamp
        self.closesAfterWriting = closesAfterWriting
        self.identity = identity
    }
}

/// The entries of a directory, in one buffer that is used again from listing to listing.
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
    /// What tells the listed directory from others: the low bits of its inode number.
    public var identity: UInt32 = 0

    /// An empty listing.
    public init() {}

    /// Adds an entry.
    /// - Parameters:
    ///   - name: The name's bytes, 1 to 255.
    ///   - isDirectory: Whether it is a directory; a symbolic link to one is not.
    ///   - stamp: What a file looks like; not looked at for directories.
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
