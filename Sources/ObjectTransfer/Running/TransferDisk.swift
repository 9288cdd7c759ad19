internal import ContentHashing
internal import Foundation
internal import Glibc
package import SystemPackage
package import UbiquityContainers

/// The files of an account on this device, as a transfer reads and writes them.
package protocol TransferDisk: Sendable {
    /// Whether the containers root is there; where it is gone, everything stops.
    func isThere() async -> Bool

    /// Whether the directory is there in which files arrive, which is made once and stays.
    func hasStaging() async -> Bool

    /// Returns the sizes of all files of an account's containers that a cloud can carry.
    func scan() async throws -> [TransferPath: Int64]

    /// Returns the size of one file; nil if it is not there.
    func size(of path: TransferPath) async throws -> Int64?

    /// Returns the size and the hash of a file; nil if it is not there.
    func version(of path: TransferPath) async throws -> FileDigest?

    /// Where a file lies.
    func file(at path: TransferPath) -> FilePath

    /// Returns a path on the same file system where no file is, for one that arrives.
    func stage() async throws -> FilePath

    /// Writes bytes to a staged file.
    func write(_ bytes: [UInt8], staged file: FilePath) async throws

    /// Reads a staged file, up to a number of bytes.
    func read(staged file: FilePath, limit: Int) async throws -> [UInt8]

    /// Makes a staged file durable, and returns its size and hash.
    func check(staged file: FilePath) async throws -> FileDigest

    /// Gives a staged file its place, and makes the directories above it below the root; returns false if a file is there.
    func place(_ staged: FilePath, at path: TransferPath) async throws -> Bool

    /// Removes a staged file.
    func discard(_ staged: FilePath) async

    /// Removes a file that is gone for good.
    func remove(_ path: TransferPath) async throws

    /// The free bytes; nil if unknown.
    func free() async -> Int64?
}

/// The files of an account below a containers root.
package struct ContainersDisk: TransferDisk {
    package let root: FilePath
    package let account: AccountName
    private let files = LinuxFileLayer()

    /// The name of the directory below the root in which files arrive; a synchroniser leaves it alone.
    static let staging = ".ubiquity-transfer.nosync"

    package init(root: FilePath, account: AccountName) { (self.root, self.account) = (root, account) }

    private var directory: FilePath { root.appending(account.description) }
    private var staging: FilePath { root.appending(Self.staging) }

    package func isThere() async -> Bool { await (try? blocking { try files.kind(of: root) == .directory }) ?? false }

    package func hasStaging() async -> Bool { await (try? blocking { try files.kind(of: staging) == .directory }) ?? false }

    package func file(at path: TransferPath) -> FilePath { directory.pushing(FilePath(path.description)) }

    package func scan() async throws -> [TransferPath: Int64] {
        try await blocking {
            var found: [TransferPath: Int64] = [:]
            for name in try files.directoryNames(in: directory) ?? [] where (try? ContainerIdentifier(name)) != nil {
                try scan(directory.appending(name), name, into: &found)
            }
            return found
        }
    }

    /// Lists a directory without following links, and without what never leaves this device.
    private func scan(_ directory: FilePath, _ prefix: String, into found: inout [TransferPath: Int64]) throws {
        for name in try files.directoryNames(in: directory) ?? [] where !ForeignNames.staysHere(name) {
            let path = directory.appending(name)
            do {
                switch try files.kind(of: path) {
                case .directory: try scan(path, "\(prefix)/\(name)", into: &found)
                case .file:
                    if let item = TransferPath("\(prefix)/\(name)", of: account) { found[item] = try files.size(of: path) }
                case .other, nil: continue
                }
            } catch .noSuchFileOrDirectory {
                // It has gone between the listing and here.
                continue
            }
        }
    }

    package func size(of path: TransferPath) async throws -> Int64? {
        try await blocking {
            let file = file(at: path)
            return try isReached(file) && files.kind(of: file) == .file ? files.size(of: file) : nil
        }
    }

    package func version(of path: TransferPath) async throws -> FileDigest? {
        try await blocking {
            let file = file(at: path)
            guard try isReached(file) else { return nil }
            do {
                return FileDigest(size: try files.size(of: file), hash: try ContentHash(ofFile: file))
            } catch .noSuchFileOrDirectory {
                return nil
            }
        }
    }

    /// Whether all directories from the root to a file are directories, and no links.
    private func isReached(_ file: FilePath) throws -> Bool {
        var directory = file.removingLastComponent()
        while directory != root {
            guard try files.kind(of: directory) == .directory else { return false }
            directory.removeLastComponent()
        }
        return true
    }

    package func stage() async throws -> FilePath {
        try await blocking {
            guard try files.kind(of: root) == .directory else { throw Errno.noSuchFileOrDirectory }
            try files.makeDirectory(staging)
            return staging.appending(UUID().uuidString.lowercased())
        }
    }

    package func write(_ bytes: [UInt8], staged file: FilePath) async throws { try await blocking { try files.writeNew(file, bytes) } }

    package func read(staged file: FilePath, limit: Int) async throws -> [UInt8] { try await blocking { try files.read(file, limit: limit) } }

    package func check(staged file: FilePath) async throws -> FileDigest {
        try await blocking {
            try files.syncFile(file)
            return FileDigest(size: try files.size(of: file), hash: try ContentHash(ofFile: file))
        }
    }

    package func place(_ staged: FilePath, at path: TransferPath) async throws -> Bool {
        try await blocking {
            let file = file(at: path)
            try makeDirectories(above: file)
            do {
                try files.renameNew(staged, to: file)
            } catch .fileExists {
                return false
            }
            try files.syncDirectory(file.removingLastComponent())
            return true
        }
    }

    /// Makes the directories between the root and a file, each durable before the next, and never the root.
    private func makeDirectories(above file: FilePath) throws {
        guard try files.kind(of: root) == .directory else { throw Errno.noSuchFileOrDirectory }
        var missing: [FilePath] = []
        var directory = file.removingLastComponent()
        while directory != root {
            switch try files.kind(of: directory) {
            case .directory: break
            case nil: missing.append(directory)
            case .file, .other: throw Errno.notDirectory
            }
            directory.removeLastComponent()
        }
        for directory in missing.reversed() {
            try files.makeDirectory(directory)
            try files.syncDirectory(directory.removingLastComponent())
        }
    }

    package func discard(_ staged: FilePath) async { _ = try? await blocking { try files.remove(staged) } }

    package func remove(_ path: TransferPath) async throws {
        try await blocking {
            let file = file(at: path)
            guard try isReached(file) else { return }
            try files.remove(file)
            try files.syncDirectory(file.removingLastComponent())
        }
    }

    package func free() async -> Int64? {
        guard case .there(let facts?) = await DirectoryProbe.ask(root) else { return nil }
        return Int64(clamping: facts.available)
    }

    /// Removes what a killed agent has left in the staging directory.
    package func removeStaged() async {
        _ = try? await blocking {
            // Pieces of documents that have arrived are kept, and interrupted evictions are ended by ``DocumentDisk/recover()``.
            for name in try files.directoryNames(in: staging) ?? [] where name != "pieces" && name != "evicting" {
                try FileManager.default.removeItem(atPath: staging.appending(name).string)
            }
        }
    }
}
