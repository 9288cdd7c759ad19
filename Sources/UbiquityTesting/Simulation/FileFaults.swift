internal import Foundation
internal import Synchronization
public import SystemPackage
internal import UbiquityContainers

/// Fails file changes after a number of them, like a crash of the process or a failing disk, and makes a device's
/// identifiers predictable.
public final class FileFaults: Sendable {
    private let rest = Mutex<Int?>(nil)
    private let kept = Mutex<FilePath?>(nil)
    private let random: Mutex<SeededRandom?>

    /// Makes a value without faults.
    ///
    /// - Parameter seed: determines the identifiers of the device's peers; nil for new ones each time.
    public init(seed: UInt64? = nil) { random = Mutex(seed.map { SeededRandom(seed: $0) }) }

    /// Allows a number of further changes, and then fails all changes until `disarm()`.
    ///
    /// - Parameter count: the number of allowed changes.
    public func arm(after count: Int) { rest.withLock { $0 = count } }

    /// Allows all changes again.
    public func disarm() { rest.withLock { $0 = nil } }

    /// Copies every file that the device removes from a container to a directory first, so that a test can inspect it.
    ///
    /// - Parameter directory: the existing destination. Files with one name count as one file.
    public func keepRemoved(in directory: FilePath) { kept.withLock { $0 = directory } }

    fileprivate func newIdentifier() -> UUID {
        random.withLock { random in
            guard random != nil else { return UUID() }
            var bytes = (0..<2).flatMap { _ in withUnsafeBytes(of: random!.next(), Array.init) }
            // Version 4, variant 1 (RFC 9562).
            (bytes[6], bytes[8]) = (bytes[6] & 0x0f | 0x40, bytes[8] & 0x3f | 0x80)
            return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        }
    }

    fileprivate func keep(_ file: FilePath, _ files: LinuxFileLayer) {
        guard let directory = kept.withLock({ $0 }), let name = file.lastComponent, let bytes = try? files.read(file, limit: .max) else { return }
        let copy = directory.appending(name)
        // A partial file may be removed before the complete file arrives.
        if let size = try? files.size(of: copy) {
            guard size < bytes.count else { return }
            try? files.remove(copy)
        }
        try? files.writeNew(copy, bytes)
    }

    /// Counts a change; throws if it is not allowed.
    fileprivate func pass() throws(Errno) {
        let isPast = rest.withLock { rest in
            guard let left = rest else { return false }
            rest = left - 1
            return left <= 0
        }
        if isPast { throw .ioError }
    }
}

/// The kernel's file layer, with the faults of a device.
struct FaultyFileLayer: FileLayer {
    let faults: FileFaults
    private let files = LinuxFileLayer()

    init(faults: FileFaults) { self.faults = faults }

    func names(in directory: FilePath) throws(Errno) -> [String] { try files.names(in: directory) }
    func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8] { try files.read(file, limit: limit) }
    func size(of file: FilePath) throws(Errno) -> Int64 { try files.size(of: file) }
    func kind(of path: FilePath) throws(Errno) -> FileKind? { try files.kind(of: path) }
    func newIdentifier() -> UUID { faults.newIdentifier() }

    func makeDirectory(_ path: FilePath) throws(Errno) {
        // An existing entry is no change.
        if try files.kind(of: path) == nil { try faults.pass() }
        try files.makeDirectory(path)
    }

    func writeNew(_ file: FilePath, _ bytes: [UInt8]) throws(Errno) {
        do {
            try faults.pass()
        } catch {
            // The crash interrupts the write in the middle.
            try? files.writeNew(file, Array(bytes.prefix(bytes.count / 2)))
            throw error
        }
        try files.writeNew(file, bytes)
    }

    func renameNew(_ from: FilePath, to: FilePath) throws(Errno) {
        try faults.pass()
        try files.renameNew(from, to: to)
    }

    func renameOver(_ from: FilePath, to: FilePath) throws(Errno) {
        try faults.pass()
        try files.renameOver(from, to: to)
    }

    func syncDirectory(_ directory: FilePath) throws(Errno) { try faults.pass() }

    func syncFile(_ file: FilePath) throws(Errno) { try faults.pass() }

    func remove(_ file: FilePath) throws(Errno) {
        try faults.pass()
        faults.keep(file, files)
        try files.remove(file)
    }

    func removeDirectory(_ directory: FilePath) throws(Errno) {
        try faults.pass()
        try files.removeDirectory(directory)
    }
}
