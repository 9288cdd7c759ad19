import CLinux
import Foundation
import Glibc
import SystemPackage

/// A record that a broker writes before it acts.
enum ClaimsRecord: Sendable {
    case client(ClientID, ProcessIdentity)
    case gone(ClientID)
    /// A claim was granted, or its items moved.
    case held(ClaimRequest, [ClaimItem])
    case released(ClaimID)
    case presenter(PresenterID, FilePath?)
    case presenterGone(PresenterID)
}

extension ClaimsRecord: Wire {
    func write(to writer: inout WireWriter) {
        switch self {
        case .client(let id, let process):
            writer.byte(0)
            writer.put(id)
            writer.put(process.number)
            writer.number(process.start)
        case .gone(let id):
            writer.byte(1)
            writer.put(id)
        case .held(let request, let items):
            writer.byte(2)
            writer.put(request)
            writer.put(items)
        case .released(let id):
            writer.byte(3)
            writer.put(id)
        case .presenter(let id, let path):
            writer.byte(4)
            writer.put(id)
            writer.put(path)
        case .presenterGone(let id):
            writer.byte(5)
            writer.put(id)
        }
    }

    init(from reader: inout WireReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = .client(try reader.get(), ProcessIdentity(number: try reader.get(), start: try reader.number()))
        case 1: self = .gone(try reader.get())
        case 2: self = .held(try reader.get(), try reader.get())
        case 3: self = .released(try reader.get())
        case 4: self = .presenter(try reader.get(), try reader.get())
        case 5: self = .presenterGone(try reader.get())
        default: throw WireError("a record of no known kind")
        }
    }
}

extension FormerClaims {
    mutating func apply(_ record: ClaimsRecord) {
        switch record {
        case .client(let id, let process): clients[id] = process
        case .gone(let id):
            clients[id] = nil
            for claim in held.keys where claim.client == id { held[claim] = nil }
            for presenter in presenters.keys where presenter.client == id { presenters[presenter] = nil }
        case .held(let request, let items): held[request.id] = (request, items)
        case .released(let id): held[id] = nil
        case .presenter(let id, let path): presenters[id] = path
        case .presenterGone(let id): presenters[id] = nil
        }
    }

    /// The shortest list of records with this content.
    var records: [ClaimsRecord] {
        clients.map { .client($0.key, $0.value) } + held.values.map { .held($0.request, $0.items) } + presenters.map { .presenter($0.key, $0.value) }
    }
}

/// The table of claims: a file, mapped into memory, that a broker appends to before it grants a claim, and that its
/// successor reads.
///
/// The file has a head (a magic number, the version, the boot, the epoch), records, each after its length in four bytes,
/// and zeros. One store publishes the records that belong together: the length of the first one, which is 0 until then.
/// If a broker is killed before this store, none of these records is in the table, and no client has acted on them. If
/// it is killed afterwards, all of them are.
struct ClaimsFile: ~Copyable {
    private static let magic: [UInt8] = Array("ubclaims".utf8)
    private static let name = "claims"
    private static let leastCapacity = 1 << 16

    /// A file with all its blocks, in the broker's memory.
    private final class Mapping {
        let memory: UnsafeMutableRawBufferPointer

        /// Maps a file, which it makes as large as this; see posix_fallocate(3) and mmap(2).
        ///
        /// A file system without space refuses here, not in the middle of a record.
        init(_ file: FileDescriptor, capacity: Int) throws(Errno) {
            let failure = posix_fallocate(file.rawValue, 0, off_t(capacity))
            guard failure == 0 else { throw Errno(rawValue: failure) }
            guard let address = mmap(nil, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, file.rawValue, 0), address != MAP_FAILED else {
                throw Errno(rawValue: errno)
            }
            memory = UnsafeMutableRawBufferPointer(start: address, count: capacity)
        }

        deinit { munmap(memory.baseAddress, memory.count) }
    }

    private let directory: FileDescriptor
    private var file: FileDescriptor
    private var mapping: Mapping
    private let head: [UInt8]
    private var claims: FormerClaims
    private var size: Int
    private var compactSize: Int
    let epoch: UInt64
    /// The number of stores that made records visible; for tests.
    private(set) var publications = 0

    /// Reads the table of the previous broker, and starts a new one.
    ///
    /// - Parameters:
    ///   - directory: the directory of the table.
    ///   - boot: identifies the boot of the system; claims of another boot are void.
    ///   - leastEpoch: the epoch to use if no table has one.
    /// - Throws: an `Errno` when the table cannot be written.
    init(in directory: FileDescriptor, boot: String, leastEpoch: UInt64) throws {
        let old = Self.read(in: directory, boot: boot)
        epoch = max((old?.epoch ?? 0) + 1, leastEpoch)
        claims = old?.claims ?? FormerClaims()
        var writer = WireWriter()
        writer.put(boot)
        writer.number(epoch)
        head = Self.magic + [UInt8(brokerProtocolVersion)] + writer.bytes
        self.directory = directory
        (file, mapping, size) = try Self.create(in: directory, head, claims)
        compactSize = size
    }

    deinit { try? file.close() }

    /// The records of the previous broker.
    var former: FormerClaims { claims }

    /// Appends records, and returns when a successor can read them.
    mutating func append(_ records: [ClaimsRecord]) {
        guard !records.isEmpty else { return }
        var bytes: [UInt8] = []
        for record in records {
            claims.apply(record)
            Self.add(record, to: &bytes)
        }
        // If the file system is full, the table lacks records and a successor knows less; claims continue.
        guard reserve(bytes.count) else { return }
        Self.publish(bytes, in: mapping.memory, at: size)
        publications += 1
        size += bytes.count
        if size > 1 << 20, size > 8 * compactSize { compact() }
    }

    /// Copies records behind the last one, so that they are visible all at once.
    private static func publish(_ bytes: [UInt8], in memory: UnsafeMutableRawBufferPointer, at start: Int) {
        bytes.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(rebasing: memory[(start + 4)...]).copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[4...]))
            clinux_publish(memory.baseAddress! + start, bytes.loadUnaligned(as: UInt32.self))
        }
    }

    /// Makes space for records, and for the zeros that end the table.
    private mutating func reserve(_ count: Int) -> Bool {
        guard size + count + 4 > mapping.memory.count else { return true }
        guard let larger = try? Mapping(file, capacity: max(2 * mapping.memory.count, size + count + 4)) else { return false }
        mapping = larger
        return true
    }

    private mutating func compact() {
        guard let (newFile, new, newSize) = try? Self.create(in: directory, head, claims) else { return }
        try? file.close()
        file = newFile
        mapping = new
        size = newSize
        compactSize = newSize
    }

    private static func add(_ record: ClaimsRecord, to bytes: inout [UInt8]) {
        var writer = WireWriter()
        writer.put(record)
        withUnsafeBytes(of: UInt32(writer.bytes.count).littleEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: writer.bytes)
    }

    /// Writes a table beside the old one, then replaces the old one; see openat(2), renameat(2).
    private static func create(in directory: FileDescriptor, _ head: [UInt8], _ claims: FormerClaims) throws -> (FileDescriptor, Mapping, Int) {
        let number = openat(directory.rawValue, "claims.new", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw Errno(rawValue: errno) }
        let file = FileDescriptor(rawValue: number)
        do {
            var bytes = head
            for record in claims.records { add(record, to: &bytes) }
            let mapping = try Mapping(file, capacity: max(leastCapacity, 2 * bytes.count))
            mapping.memory.copyBytes(from: bytes)
            guard renameat(directory.rawValue, "claims.new", directory.rawValue, name) == 0 else { throw Errno(rawValue: errno) }
            return (file, mapping, bytes.count)
        } catch {
            try? file.close()
            throw error
        }
    }

    private static func read(in directory: FileDescriptor, boot: String) -> (claims: FormerClaims, epoch: UInt64)? {
        let number = openat(directory.rawValue, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0, let bytes = try? FileHandle(fileDescriptor: number, closeOnDealloc: true).readToEnd().map([UInt8].init) else { return nil }
        let start = magic + [UInt8(brokerProtocolVersion)]
        guard bytes.starts(with: start) else { return nil }
        var reader = WireReader(bytes[start.count...])
        guard let from = try? reader.get(String.self), let epoch = try? reader.number() else { return nil }
        guard from == boot else { return nil }
        var claims = FormerClaims()
        var position = bytes.count - reader.left
        while bytes.count - position >= 4 {
            let count = (0..<4).reduce(0) { $0 | Int(bytes[position + $1]) << ($1 * 8) }
            guard count > 0, count <= bytes.count - position - 4 else { break }
            var record = WireReader(bytes[position + 4..<position + 4 + count])
            guard let next = try? record.get(ClaimsRecord.self) else { break }
            claims.apply(next)
            position += 4 + count
        }
        return (claims, epoch)
    }
}
