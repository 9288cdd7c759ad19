import Synchronization
import SystemPackage
import TreeWatching
import UbiquityTesting

/// A scripted tree that counts what a watcher asks of it.
final class CountingSource: TreeEventSource {
    let tree: ScriptedTreeSource
    private let count = Mutex(0)

    init(_ tree: ScriptedTreeSource) { self.tree = tree }

    /// How many watches were added and removed, directories listed and entries looked at.
    var calls: Int { count.withLock { $0 } }
    func reset() { count.withLock { $0 = 0 } }
    private func note() { count.withLock { $0 += 1 } }

    var descriptor: CInt { tree.descriptor }

    func addWatch(_ path: UnsafePointer<CChar>, mask: UInt32) throws(Errno) -> Int32 {
        note()
        return try tree.addWatch(path, mask: mask)
    }

    func removeWatch(_ watch: Int32) -> Bool {
        note()
        return tree.removeWatch(watch)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { tree.read(into: buffer) }
    func synchronise() {}

    func list(_ path: UnsafePointer<CChar>, into listing: inout DirectoryListing, pause: () -> Void) throws(Errno) {
        note()
        try tree.list(path, into: &listing, pause: pause)
    }

    func status(of path: UnsafePointer<CChar>, followingLinks: Bool) throws(Errno) -> EntryStatus {
        note()
        return try tree.status(of: path, followingLinks: followingLinks)
    }

    func close() {}
}
