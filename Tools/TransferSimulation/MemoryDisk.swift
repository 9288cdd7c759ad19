import ContentHashing
import Foundation
import ObjectTransfer
import Synchronization
import SystemPackage
import UbiquityContainers

/// A device's files in memory.
///
/// What is staged is lost in a crash.
final class MemoryDisk: TransferDisk {
    private struct State {
        var files: [TransferPath: [UInt8]] = [:]
        var staged: [FilePath: [UInt8]] = [:]
        var count = 0
    }

    private let state = Mutex(State())
    private let faults: TransferFaults
    private static let root: FilePath = "/files"

    init(_ faults: TransferFaults) { self.faults = faults }

    var files: [TransferPath: [UInt8]] { state.withLock { $0.files } }
    func write(_ bytes: [UInt8], to path: TransferPath) { state.withLock { $0.files[path] = bytes } }
    func forget(_ path: TransferPath) { state.withLock { $0.files[path] = nil } }
    func crash() { state.withLock { $0.staged = [:] } }

    func bytes(at file: FilePath) -> [UInt8]? {
        state.withLock { state in
            if let bytes = state.staged[file] { return bytes }
            return state.files.first { self.file(at: $0.key) == file }?.value
        }
    }

    func set(_ bytes: [UInt8], at file: FilePath) { state.withLock { $0.staged[file] = bytes } }

    // MARK: TransferDisk

    func isThere() async -> Bool { true }
    func hasStaging() async -> Bool { true }
    func free() async -> Int64? { nil }
    func file(at path: TransferPath) -> FilePath { Self.root.pushing(FilePath(path.description)) }

    func scan() async throws -> [TransferPath: Int64] {
        try faults.step()
        return files.mapValues { Int64($0.count) }
    }

    func size(of path: TransferPath) async throws -> Int64? { files[path].map { Int64($0.count) } }

    func version(of path: TransferPath) async throws -> FileDigest? {
        try faults.step()
        return files[path].map { FileDigest(size: Int64($0.count), hash: ContentHash(of: $0)) }
    }

    func stage() async throws -> FilePath {
        try faults.step()
        return state.withLock { state in
            state.count += 1
            return FilePath("/staged/\(state.count)")
        }
    }

    func write(_ bytes: [UInt8], staged file: FilePath) async throws { set(bytes, at: file) }

    func read(staged file: FilePath, limit: Int) async throws -> [UInt8] {
        guard let bytes = bytes(at: file), bytes.count <= limit else { throw Errno.noSuchFileOrDirectory }
        return bytes
    }

    func check(staged file: FilePath) async throws -> FileDigest {
        try faults.step()
        guard let bytes = bytes(at: file) else { throw Errno.noSuchFileOrDirectory }
        return FileDigest(size: Int64(bytes.count), hash: ContentHash(of: bytes))
    }

    func place(_ staged: FilePath, at path: TransferPath) async throws -> Bool {
        try faults.step()
        return state.withLock { state in
            guard state.files[path] == nil, let bytes = state.staged.removeValue(forKey: staged) else { return false }
            state.files[path] = bytes
            return true
        }
    }

    func discard(_ staged: FilePath) async { state.withLock { $0.staged[staged] = nil } }

    func remove(_ path: TransferPath) async throws {
        try faults.step()
        forget(path)
    }
}

/// An index in memory, which a device keeps over its crashes, unless it is lost.
final class MemoryIndex: TransferMemory {
    private struct State {
        var files: [TransferPath: TransferRecord] = [:]
        var state: TransferBook.State?
    }

    private let state = Mutex(State())
    private let faults: TransferFaults

    init(_ faults: TransferFaults) { self.faults = faults }

    func lose() { state.withLock { $0 = State() } }

    /// Makes this index what another one is, as a copy of a device home does.
    func copy(_ other: MemoryIndex) {
        let copied = other.state.withLock { $0 }
        state.withLock { $0 = copied }
    }

    func load(_ account: AccountName) throws -> TransferBook? {
        state.withLock { kept in kept.state.map { TransferBook(account: account, $0, files: kept.files) } }
    }

    func save(_ changes: TransferBook.Changes) throws {
        try faults.step()
        state.withLock { state in
            for (path, record) in changes.files { state.files[path] = record }
            if let new = changes.state { state.state = new }
        }
    }
}
