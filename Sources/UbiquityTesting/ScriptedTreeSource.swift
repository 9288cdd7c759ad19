internal import CLinux
internal import Glibc
internal import Synchronization
public import SystemPackage
public import TreeWatching

/// A directory tree in memory that raises the events of a kernel: the scripted event source for tests.
///
/// ```swift
/// let tree = ScriptedTreeSource(root: "/scripted")
/// var options = TreeWatcher.Options()
/// options.source = .custom(tree)
/// let watcher = try TreeWatcher("/scripted", options: options)
/// tree.write("notes/milk.txt")          // raises events
/// tree.loseEvents { tree.write("bread.txt") }   // raises an overflow only
/// ```
///
/// Paths are relative to the root; paths outside the root are absolute. Missing directories on the way are created.
/// Every function is atomic for the watcher, and any thread may call it.
public final class ScriptedTreeSource: TreeEventSource {
    fileprivate struct Inode {
        let isDirectory: Bool
        var children: [String: Int] = [:]
        var version = 0
    }

    fileprivate struct State {
        var inodes: [Int: Inode] = [1: Inode(isDirectory: true)]
        var nextInode = 2
        /// The watch descriptor and mask of each watched inode.
        var watches: [Int: (watch: Int32, mask: UInt32)] = [:]
        var nextWatch: Int32 = 1
        var nextCookie: UInt32 = 1
        var queue: [UInt8] = []
        var clock: Int64 = 1
        var isLosing = false
        var queueLimit = Int.max
        var queued = 0
        var hasOverflowed = false
        var watchLimit = Int.max
        var unreadable: Set<Int> = []
    }

    private let state = Mutex(State())
    private let root: FilePath
    /// An eventfd(2) that is readable while events are queued.
    public let descriptor: CInt

    /// Makes a tree whose root is an empty directory.
    /// - Parameter root: The absolute path of the root.
    public init(root: FilePath) {
        self.root = root
        descriptor = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        precondition(descriptor >= 0, "eventfd failed with error \(errno)")
        createDirectory("")
    }

    deinit { Glibc.close(descriptor) }

    // MARK: The script

    /// Creates a directory and its missing ancestors.
    /// - Parameter path: The directory's path.
    public func createDirectory(_ path: FilePath) { change { $0.makeDirectory(components(path)) } }

    /// Creates a file, or changes its content, and closes it.
    /// - Parameter path: The file's path.
    public func write(_ path: FilePath) {
        change { state in
            let (parent, name) = state.place(components(path))
            if state.inodes[parent]!.children[name] == nil {
                state.inodes[parent]!.children[name] = state.add(isDirectory: false)
                state.raise(parent, 0x100, name)
            }
            let inode = state.inodes[parent]!.children[name]!
            state.clock += 1
            state.inodes[inode]!.version = Int(state.clock)
            state.raise(parent, 0x2, name)
            state.raise(parent, 0x8, name)
        }
    }

    /// Moves an entry; a file may replace another.
    /// - Parameters:
    ///   - source: The current path.
    ///   - target: The new path.
    public func move(_ source: FilePath, to target: FilePath) {
        change { state in
            let (from, name) = state.place(components(source))
            guard let inode = state.inodes[from]!.children.removeValue(forKey: name) else { return }
            let (to, newName) = state.place(components(target))
            let replaced = state.inodes[to]!.children.updateValue(inode, forKey: newName)
            state.raiseMove(inode, from, name, to, newName)
            if let replaced { state.forget(replaced) }
        }
    }

    /// Exchanges two entries, as renameat2(2) does.
    /// - Parameters:
    ///   - first: A path.
    ///   - second: Another path.
    public func exchange(_ first: FilePath, _ second: FilePath) {
        change { state in
            let (from, name) = state.place(components(first))
            let (to, other) = state.place(components(second))
            guard let a = state.inodes[from]!.children[name], let b = state.inodes[to]!.children[other] else { return }
            state.inodes[from]!.children[name] = b
            state.inodes[to]!.children[other] = a
            state.raiseMove(a, from, name, to, other)
            state.raiseMove(b, to, other, from, name)
        }
    }

    /// Removes an entry and everything below it, deepest first.
    /// - Parameter path: The entry's path.
    public func remove(_ path: FilePath) { change { $0.remove(components(path)) } }

    /// Runs a script whose events are lost; an overflow arrives instead.
    /// - Parameter script: The unseen changes.
    public func loseEvents(_ script: () -> Void) {
        change { $0.isLosing = true }
        script()
        change { state in
            state.isLosing = false
            state.append(watch: -1, mask: 0x4000, cookie: 0, name: "")
        }
    }

    /// Sets the number of events that the queue holds before it overflows; unlimited by default.
    /// - Parameter count: The number of events.
    public func limitQueue(to count: Int) { change { $0.queueLimit = count } }

    /// Sets the number of watches that can be added; unlimited by default.
    /// - Parameter count: The number of watches.
    public func limitWatches(to count: Int) { change { $0.watchLimit = count } }

    /// Makes a directory unreadable, or readable again.
    /// - Parameters:
    ///   - path: The directory's path.
    ///   - isReadable: Whether it can be read.
    public func setReadable(_ path: FilePath, _ isReadable: Bool) {
        change { state in
            guard let inode = state.find(components(path)) else { return }
            if isReadable { state.unreadable.remove(inode) } else { state.unreadable.insert(inode) }
        }
    }

    /// Queues a raw event, whatever the state of the tree is.
    /// - Parameters:
    ///   - path: The watched directory; the event is dropped if the directory is not watched.
    ///   - mask: inotify(7) bits.
    ///   - cookie: Connects the halves of a move.
    ///   - name: The entry's name.
    public func raise(in path: FilePath, mask: UInt32, cookie: UInt32 = 0, name: String) {
        change { state in
            guard let inode = state.find(components(path)), let watch = state.watches[inode]?.watch else { return }
            state.append(watch: watch, mask: mask, cookie: cookie, name: name)
        }
    }

    /// The number of watched directories.
    public var watchCount: Int { state.withLock { $0.watches.count } }

    // MARK: The source

    /// Adds a watch to the directory at a path.
    /// - Parameters:
    ///   - path: The absolute path.
    ///   - mask: inotify(7) bits.
    /// - Returns: The watch descriptor.
    /// - Throws: The kernel's error: no entry, not a directory, no space, permission denied.
    public func addWatch(_ path: UnsafePointer<CChar>, mask: UInt32) throws(Errno) -> Int32 {
        try state.withLock { state throws(Errno) in
            guard let inode = state.find(components(FilePath(platformString: path))) else { throw Errno.noSuchFileOrDirectory }
            guard state.inodes[inode]!.isDirectory else { throw Errno.notDirectory }
            if state.unreadable.contains(inode) { throw Errno.permissionDenied }
            if let known = state.watches[inode] {
                state.watches[inode] = (known.watch, mask & 0x2000_0000 != 0 ? known.mask | mask : mask)
                return known.watch
            }
            if state.watches.count >= state.watchLimit { throw Errno.noSpace }
            let watch = state.nextWatch
            state.nextWatch += 1
            state.watches[inode] = (watch, mask)
            return watch
        }
    }

    /// Ends a watch.
    /// - Parameter watch: The watch descriptor.
    /// - Returns: Whether it was in use.
    public func removeWatch(_ watch: Int32) -> Bool {
        state.withLock { state in
            guard let inode = state.watches.first(where: { $0.value.watch == watch })?.key else { return false }
            state.watches[inode] = nil
            state.append(watch: watch, mask: 0x8000, cookie: 0, name: "")
            return true
        }
    }

    /// Returns queued events.
    /// - Parameter buffer: Filled with whole events.
    /// - Returns: The number of bytes filled.
    public func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        state.withLock { state in
            var count: eventfd_t = 0
            eventfd_read(descriptor, &count)
            var end = 0
            let queue = state.queue
            while end < queue.count {
                let size = 16 + queue.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: end + 12, as: UInt32.self)) }
                if end + size > buffer.count { break }
                end += size
                state.queued -= 1
            }
            buffer.copyBytes(from: queue[..<end])
            state.queue.removeFirst(end)
            state.hasOverflowed = false
            if !state.queue.isEmpty { eventfd_write(descriptor, 1) }
            return end
        }
    }

    /// Does nothing: events are queued at once.
    public func synchronise() {}

    /// Lists a directory.
    /// - Parameters:
    ///   - path: The absolute path.
    ///   - listing: Receives the entries.
    ///   - pause: Called once, before the entries are read.
    /// - Throws: No entry, not a directory, permission denied.
    public func list(_ path: UnsafePointer<CChar>, into listing: inout DirectoryListing, pause: () -> Void) throws(Errno) {
        let (inode, entries) = try state.withLock { state throws(Errno) -> (Int, [(String, EntryStatus, Int64)]) in
            guard let inode = state.find(components(FilePath(platformString: path))) else { throw Errno.noSuchFileOrDirectory }
            guard state.inodes[inode]!.isDirectory else { throw Errno.notDirectory }
            if state.unreadable.contains(inode) { throw Errno.permissionDenied }
            let children = state.inodes[inode]!.children.sorted { $0.key < $1.key }
            return (inode, children.map { name, number in (name, state.status(number), Int64(state.inodes[number]!.version)) })
        }
        listing.identity = UInt32(inode)
        for (name, status, changed) in entries {
            var name = name
            name.withUTF8 { listing.append(UnsafeRawBufferPointer($0), isDirectory: status.isDirectory, stamp: status.stamp, changed: changed) }
        }
    }

    /// Inspects one entry; there are no symbolic links here.
    /// - Parameters:
    ///   - path: The absolute path.
    ///   - followingLinks: Has no effect.
    /// - Returns: The status of the entry.
    /// - Throws: No entry.
    public func status(of path: UnsafePointer<CChar>, followingLinks: Bool) throws(Errno) -> EntryStatus {
        try state.withLock { state throws(Errno) in
            guard let inode = state.find(components(FilePath(platformString: path))) else { throw Errno.noSuchFileOrDirectory }
            return state.status(inode)
        }
    }

    /// Does nothing.
    public func close() {}

    // MARK: Internals

    private func components(_ path: FilePath) -> [String] { root.pushing(path).components.map(\.string) }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            let before = state.queue.count
            body(&state)
            if state.queue.count > before { eventfd_write(descriptor, 1) }
        }
    }
}

extension ScriptedTreeSource.State {
    fileprivate func find(_ path: [String]) -> Int? {
        var inode = 1
        for name in path {
            guard let child = inodes[inode]?.children[name] else { return nil }
            inode = child
        }
        return inode
    }

    fileprivate mutating func add(isDirectory: Bool) -> Int {
        defer { nextInode += 1 }
        inodes[nextInode] = .init(isDirectory: isDirectory)
        return nextInode
    }

    /// Returns the directory of the path's last component, created if missing, and that component.
    fileprivate mutating func place(_ path: [String]) -> (parent: Int, name: String) {
        (makeDirectory(Array(path.dropLast())), path.last ?? "")
    }

    @discardableResult
    fileprivate mutating func makeDirectory(_ path: [String]) -> Int {
        var inode = 1
        for name in path {
            if let child = inodes[inode]!.children[name] {
                inode = child
            } else {
                let child = add(isDirectory: true)
                inodes[inode]!.children[name] = child
                raise(inode, 0x100 | 0x4000_0000, name)
                inode = child
            }
        }
        return inode
    }

    fileprivate mutating func remove(_ path: [String]) {
        guard let inode = find(path), let name = path.last, let parent = find(path.dropLast()) else { return }
        for child in inodes[inode]!.children.keys.sorted() { remove(path + [child]) }
        inodes[parent]!.children[name] = nil
        raise(parent, inodes[inode]!.isDirectory ? 0x200 | 0x4000_0000 : 0x200, name)
        forget(inode)
    }

    /// Removes an inode after its last name is gone: its watch reports that, and ends.
    fileprivate mutating func forget(_ inode: Int) {
        if let (watch, mask) = watches.removeValue(forKey: inode) {
            if mask & 0x400 != 0 { append(watch: watch, mask: 0x400, cookie: 0, name: "") }
            append(watch: watch, mask: 0x8000, cookie: 0, name: "")
        }
        inodes[inode] = nil
    }

    fileprivate mutating func raise(_ directory: Int, _ mask: UInt32, _ name: String, cookie: UInt32 = 0) {
        guard let (watch, wanted) = watches[directory], wanted & mask & 0xFFF != 0 else { return }
        append(watch: watch, mask: mask, cookie: cookie, name: name)
    }

    fileprivate mutating func raiseMove(_ inode: Int, _ from: Int, _ name: String, _ to: Int, _ newName: String) {
        let directory: UInt32 = inodes[inode]!.isDirectory ? 0x4000_0000 : 0
        let cookie = nextCookie
        nextCookie += 1
        raise(from, 0x40 | directory, name, cookie: cookie)
        raise(to, 0x80 | directory, newName, cookie: cookie)
        if let (watch, mask) = watches[inode], mask & 0x800 != 0 { append(watch: watch, mask: 0x800, cookie: 0, name: "") }
    }

    fileprivate mutating func append(watch: Int32, mask: UInt32, cookie: UInt32, name: String) {
        if isLosing || hasOverflowed { return }
        if queued >= queueLimit {
            hasOverflowed = true
            appendBytes(watch: -1, mask: 0x4000, cookie: 0, name: "")
        } else {
            appendBytes(watch: watch, mask: mask, cookie: cookie, name: name)
        }
    }

    private mutating func appendBytes(watch: Int32, mask: UInt32, cookie: UInt32, name: String) {
        let text = Array(name.utf8)
        // Like the kernel, end the name with a zero byte and pad it to the size of the fixed part.
        let length = text.isEmpty ? 0 : (text.count + 16) / 16 * 16
        for value in [UInt32(bitPattern: watch), mask, cookie, UInt32(length)] { withUnsafeBytes(of: value) { queue.append(contentsOf: $0) } }
        queue.append(contentsOf: text)
        queue.append(contentsOf: repeatElement(0, count: length - text.count))
        queued += 1
    }

    fileprivate func status(_ inode: Int) -> EntryStatus {
        let node = inodes[inode]!
        return EntryStatus(
            isDirectory: node.isDirectory, stamp: FileStamp(content: UInt64(inode) << 32 | UInt64(node.version), attributes: 1),
            identity: UInt64(inode))
    }
}
