import Glibc

/// The fixed part of `struct inotify_event`, inotify(7); the name follows it, padded with zero bytes.
struct RawEvent {
    var watch: Int32
    var mask: Mask
    var cookie: UInt32
    var nameLength: UInt32

    /// The size of the fixed part.
    static let headerSize = 16

    /// The bits of inotify(7).
    struct Mask: OptionSet, Sendable {
        let rawValue: UInt32
        init(rawValue: UInt32) { self.rawValue = rawValue }

        static let modify = Mask(rawValue: 0x2)
        static let attributes = Mask(rawValue: 0x4)
        static let closeWrite = Mask(rawValue: 0x8)
        static let movedFrom = Mask(rawValue: 0x40)
        static let movedTo = Mask(rawValue: 0x80)
        static let create = Mask(rawValue: 0x100)
        static let delete = Mask(rawValue: 0x200)
        static let deleteSelf = Mask(rawValue: 0x400)
        static let moveSelf = Mask(rawValue: 0x800)
        static let unmount = Mask(rawValue: 0x2000)
        static let queueOverflow = Mask(rawValue: 0x4000)
        static let ignored = Mask(rawValue: 0x8000)
        static let onlyDirectory = Mask(rawValue: 0x0100_0000)
        static let dontFollow = Mask(rawValue: 0x0200_0000)
        static let exclUnlink = Mask(rawValue: 0x0400_0000)
        static let add = Mask(rawValue: 0x2000_0000)
        static let isDirectory = Mask(rawValue: 0x4000_0000)

        /// Events of an entry of a directory; the kernel raises them while it holds the directory's lock.
        static let entry: Mask = [.create, .delete, .movedFrom, .movedTo]

        /// The events to watch for in a directory of a tree.
        ///
        /// The mask never contains open, access and close without writing, because the watcher's own scans would fill
        /// its queue. The parent's events, and `IN_IGNORED`, which is always sent, report the end of a directory.
        static let tree: Mask = [
            .modify, .closeWrite, .movedFrom, .movedTo, .create, .delete, .onlyDirectory, .dontFollow, .exclUnlink, .add,
        ]
        /// The additional events to watch for in a root.
        static let root: Mask = [.deleteSelf, .moveSelf]
    }

    /// Reads the event at the start of `bytes`.
    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        watch = bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
        mask = Mask(rawValue: bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
        cookie = bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self)
        nameLength = bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self)
    }

    /// The size of the whole event in bytes.
    var size: Int { Self.headerSize + Int(nameLength) }

    /// The name without its padding; empty for an event of the directory itself.
    @inline(__always)
    func name(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UnsafeRawBufferPointer {
        let start = bytes.baseAddress! + offset + Self.headerSize
        return UnsafeRawBufferPointer(start: start, count: strnlen(start, Int(nameLength)))
    }
}

@inline(__always)
private func strnlen(_ start: UnsafeRawPointer, _ limit: Int) -> Int {
    Glibc.strnlen(start.assumingMemoryBound(to: CChar.self), limit)
}
