import Foundation
import ObjectTransfer
import Synchronization
import SystemPackage
import UbiquityContainers

/// A remote in memory, which loses, delays, cuts and repeats.
final class MemoryCloud: Sendable {
    private struct State {
        var objects: [String: [UInt8]] = [:]
        /// The objects that listings do not show yet, with the number of listings for which they do not.
        var late: [String: Int] = [:]
        var requests = 0
    }

    private let state = Mutex(State())
    private let faults: TransferFaults

    init(_ faults: TransferFaults) { self.faults = faults }

    var objects: [String: [UInt8]] { state.withLock { $0.objects } }
    var requests: Int { state.withLock { $0.requests } }

    /// Removes everything, as somebody who empties the remote does.
    func wipe() { state.withLock { ($0.objects, $0.late) = ([:], [:]) } }

    fileprivate func list(_ directory: String) throws -> [StoredObject] {
        try begin()
        if faults.happens() {
            switch faults.number(in: 0..<3) {
            case 0: throw ObjectStoreError(.unreachable, "the listing was lost")
            case 1: return []
            default: break
            }
        }
        let losesOne = faults.happens()
        var found = state.withLock { state -> [StoredObject] in
            var found: [StoredObject] = []
            for (path, bytes) in state.objects.sorted(by: { $0.key < $1.key }) where path.hasPrefix(directory + "/") {
                if let wait = state.late[path], wait > 0 {
                    state.late[path] = wait - 1
                    continue
                }
                found.append(StoredObject(path: String(path.dropFirst(directory.count + 1)), size: Int64(bytes.count)))
            }
            return found
        }
        if losesOne, !found.isEmpty { found.remove(at: faults.number(in: 0..<found.count)) }
        // Some back ends list an object twice.
        if faults.happens(), let first = found.first { found.append(first) }
        return found
    }

    fileprivate func put(_ bytes: [UInt8], at path: String) throws {
        try begin()
        if faults.happens() {
            switch faults.number(in: 0..<4) {
            case 0: throw ObjectStoreError(.unreachable, "the upload was lost")
            case 1:
                let count = faults.number(in: 0..<max(1, bytes.count))
                state.withLock { $0.objects[path] = Array(bytes.prefix(count)) }
                throw ObjectStoreError(.unreachable, "the upload was cut off")
            case 2:
                state.withLock { $0.objects[path] = bytes }
                throw ObjectStoreError(.timedOut, "the answer to the upload was lost")
            default:
                let listings = faults.number(in: 1..<4)
                state.withLock { $0.late[path] = listings }
            }
        }
        state.withLock { $0.objects[path] = bytes }
    }

    fileprivate func get(_ path: String) throws -> [UInt8] {
        try begin()
        if faults.happens() {
            switch faults.number(in: 0..<3) {
            case 0: throw ObjectStoreError(.unreachable, "the download was lost")
            case 1: throw ObjectStoreError(.notFound, "the object is not there yet")
            default:
                if let bytes = objects[path] { return Array(bytes.prefix(faults.number(in: 0..<max(1, bytes.count)))) }
            }
        }
        guard let bytes = objects[path] else { throw ObjectStoreError(.notFound, "there is no such object") }
        return bytes
    }

    fileprivate func delete(_ path: String) throws {
        try begin()
        if faults.happens() {
            if faults.number(in: 0..<2) == 0 { state.withLock { $0.objects[path] = nil } }
            throw ObjectStoreError(.unreachable, "the deletion was lost")
        }
        state.withLock { $0.objects[path] = nil }
    }

    fileprivate func stat(_ path: String) throws -> StoredObject? {
        try begin()
        if faults.happens() { throw ObjectStoreError(.timedOut, "the answer was lost") }
        return objects[path].map { StoredObject(path: path, size: Int64($0.count)) }
    }

    private func begin() throws {
        try faults.step()
        state.withLock { $0.requests += 1 }
    }
}

/// A device's way to the remote.
struct MemoryStore: ObjectStore {
    let cloud: MemoryCloud
    let disk: MemoryDisk

    func list(_ directory: String) async throws -> [StoredObject] { try cloud.list(directory) }

    func put(_ file: FilePath, at path: String, progress: @escaping @Sendable (Int64) -> Void) async throws {
        guard let bytes = disk.bytes(at: file) else { throw ObjectStoreError(.notFound, "there is no such file") }
        try cloud.put(bytes, at: path)
        progress(Int64(bytes.count))
    }

    func get(_ path: String, size: Int64?, to file: FilePath, progress: @escaping @Sendable (Int64) -> Void) async throws {
        let bytes = try cloud.get(path)
        disk.set(bytes, at: file)
        progress(Int64(bytes.count))
    }

    func delete(_ path: String) async throws { try cloud.delete(path) }
    func stat(_ path: String) async throws -> StoredObject? { try cloud.stat(path) }
}
