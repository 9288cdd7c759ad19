import Foundation
import Synchronization
import SystemPackage
import UbiquityContainers

/// What befalls a container.
enum Mishap: CaseIterable, Sendable {
    /// Nothing can be written any more.
    case fullDisk
    /// It is moved away.
    case vanishes
}

/// The kernel's files, below a directory that something befalls.
final class MishapFileLayer: FileLayer {
    private let files = LinuxFileLayer()
    private let mishap: Mishap
    private let directory: FilePath

    private struct State {
        /// Nil while nothing is to happen.
        var moment: Int?
        var calls = 0
        var isOver = false
    }

    private let state = Mutex(State())

    init(_ mishap: Mishap, below directory: FilePath) {
        self.mishap = mishap
        self.directory = directory
    }

    var calls: Int { state.withLock { $0.calls } }
    private var away: FilePath { FilePath(directory.string + "-away") }

    /// Has it happen at a call from now on.
    func arm(at moment: Int) { state.withLock { $0 = State(moment: moment) } }

    /// Ends it; a container that has been made again meanwhile stays.
    ///
    /// - Returns: whether what was there is there again.
    func mend() throws -> Bool {
        let hasHappened = state.withLock { state in
            defer { state.moment = nil }
            return state.isOver
        }
        guard hasHappened, mishap == .vanishes else { return true }
        guard try files.kind(of: directory) == nil else { return false }
        try FileManager.default.moveItem(atPath: away.string, toPath: directory.string)
        return true
    }

    /// Counts a call, before it is made.
    private func call(_ path: FilePath, writes: Bool) throws(Errno) {
        guard path.starts(with: directory) else { return }
        let isNow = state.withLock { state -> Bool in
            guard let moment = state.moment, writes || mishap == .vanishes else { return false }
            state.calls += 1
            guard state.calls >= moment else { return false }
            defer { state.isOver = true }
            return mishap == .fullDisk || !state.isOver
        }
        guard isNow else { return }
        switch mishap {
        case .fullDisk: throw .noSpace
        case .vanishes: try files.renameNew(directory, to: away)
        }
    }

    func names(in directory: FilePath) throws(Errno) -> [String] {
        try call(directory, writes: false)
        return try files.names(in: directory)
    }

    func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8] {
        try call(file, writes: false)
        return try files.read(file, limit: limit)
    }

    func size(of file: FilePath) throws(Errno) -> Int64 {
        try call(file, writes: false)
        return try files.size(of: file)
    }

    func kind(of path: FilePath) throws(Errno) -> FileKind? {
        try call(path, writes: false)
        return try files.kind(of: path)
    }

    func makeDirectory(_ path: FilePath) throws(Errno) {
        if try files.kind(of: path) == nil { try call(path, writes: true) }
        try files.makeDirectory(path)
    }

    func writeNew(_ file: FilePath, _ bytes: [UInt8]) throws(Errno) {
        try call(file, writes: true)
        try files.writeNew(file, bytes)
    }

    func renameNew(_ from: FilePath, to: FilePath) throws(Errno) {
        try call(to, writes: true)
        try files.renameNew(from, to: to)
    }

    func renameOver(_ from: FilePath, to: FilePath) throws(Errno) {
        try call(to, writes: true)
        try files.renameOver(from, to: to)
    }

    func syncDirectory(_ directory: FilePath) throws(Errno) {
        try call(directory, writes: true)
        try files.syncDirectory(directory)
    }

    func syncFile(_ file: FilePath) throws(Errno) {
        try call(file, writes: true)
        try files.syncFile(file)
    }

    func remove(_ file: FilePath) throws(Errno) {
        try call(file, writes: false)
        try files.remove(file)
    }

    func removeDirectory(_ directory: FilePath) throws(Errno) {
        try call(directory, writes: false)
        try files.removeDirectory(directory)
    }
}
