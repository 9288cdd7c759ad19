#if HTTP
    internal import Foundation
    package import ObjectTransfer
    internal import Synchronization
    package import SystemPackage
    internal import UbiquityContainers

    /// A directory of a remote of rclone.
    package final class RcloneStore: ObjectStore {
        /// The remote with the directory, such as `nextcloud:Ubiquity/alice`.
        private let root: String
        private let process: RcloneProcess
        private let groups = Mutex(0)
        /// The root of an encrypted remote; nil for another one.
        private let encrypted: String?

        /// How long a call without a file may take, and the least speed of one with a file, in bytes a second.
        private static let callLimit = Duration.seconds(120)
        private static let leastSpeed: Int64 = 8 << 10
        /// The size from which on the progress of a file is asked for.
        private static let tellsProgress: Int64 = 1 << 20

        /// Opens a remote, without asking it anything.
        ///
        /// - Parameters:
        ///   - remote: a remote of rclone with a directory.
        ///   - directory: a directory below it; empty for none.
        ///   - program: rclone.
        /// - Throws: `ObjectStoreError` with `unusable` if rclone may not be used, or knows no such remote.
        package init(_ remote: String, directory: String, program: RcloneProgram) async throws {
            let chain = try await RcloneRemote(remote, program)
            let path = directory.isEmpty ? chain.strict : chain.strict.hasSuffix(":") ? chain.strict + directory : "\(chain.strict)/\(directory)"
            // With a slash at its end rclone does not ask whether it is a file, which costs a request and can be refused.
            root = chain.type == "crypt" || path.hasSuffix(":") ? path : "\(path)/"
            encrypted = chain.type == "crypt" ? String(chain.strict[...chain.strict.firstIndex(of: ":")!]) : nil
            process = RcloneProcess(program)
        }

        /// Ends rclone.
        package func close() async { await process.end() }

        private func call<Answer: Decodable & Sendable>(
            _ function: String, _ parameters: some Encodable & Sendable, as type: Answer.Type, size: Int64 = 0
        ) async throws -> Answer {
            let limit = Self.callLimit + .seconds(size / Self.leastSpeed)
            let connection = try await process.connection()
            do {
                return try await connection.call(function, parameters, as: type, within: limit)
            } catch let error as ObjectStoreError where error.kind == .timedOut {
                await process.restart("\(function) takes longer than \(Int(limit / .seconds(1))) s")
                throw error
            } catch let error as ObjectStoreError where error.reason.contains("is a file not a directory") {
                // rclone has been refused an answer once, and remembers what it made of it.
                _ = try? await connection.call("fscache/clear", Nothing(), as: Nothing.self, within: .seconds(10))
                throw error
            }
        }

        // MARK: Operations

        private struct Listing: Decodable {
            struct Entry: Decodable {
                var Path: String
                var Size: Int64
                var IsDir: Bool
            }

            var list: [Entry]?
        }

        private struct ListParameters: Encodable {
            struct Options: Encodable {
                var recurse = true
                var noModTime = true
                var noMimeType = true
                var filesOnly = true
            }

            var fs: String
            var remote: String
            var opt = Options()
        }

        package func list(_ directory: String) async throws -> [StoredObject] {
            await process.checkMemory()
            let found: Listing
            do {
                found = try await call("operations/list", ListParameters(fs: root, remote: directory), as: Listing.self, size: 64 << 20)
            } catch let error as ObjectStoreError where error.kind == .notFound {
                try await checkPassword()
                return []
            }
            if found.list?.isEmpty ?? true { try await checkPassword() }
            let prefix = directory.isEmpty ? "" : directory + "/"
            return (found.list ?? []).compactMap { entry in
                guard !entry.IsDir, entry.Path.hasPrefix(prefix) else { return nil }
                return StoredObject(path: String(entry.Path.dropFirst(prefix.count)), size: entry.Size >= 0 ? entry.Size : nil)
            }
        }

        /// Makes sure that an encrypted remote in which nothing was found can be decrypted.
        ///
        /// With another password, a directory has another name, so it is missing; only a listing of the remote's root shows
        /// names that cannot be decrypted.
        private func checkPassword() async throws {
            guard let encrypted else { return }
            var parameters = ListParameters(fs: encrypted, remote: "")
            (parameters.opt.recurse, parameters.opt.filesOnly) = (false, false)
            do {
                _ = try await call("operations/list", parameters, as: Listing.self)
            } catch let error as ObjectStoreError where error.kind == .notFound {
                return
            }
        }

        private struct CopyParameters: Encodable {
            /// Each path is written once, so the target is not looked at first.
            struct Configuration: Encodable {
                var NoCheckDest = true
                var IgnoreTimes = true
                var NoTraverse = true
                var NoUpdateModTime = true
            }

            var srcFs: String
            var srcRemote: String
            var dstFs: String
            var dstRemote: String
            var _config = Configuration()
            var _group: String
        }

        package func put(_ file: FilePath, at path: String, progress: @escaping @Sendable (Int64) -> Void) async throws {
            let size = try await blocking { try LinuxFileLayer().size(of: file) }
            let parameters = CopyParameters(
                srcFs: file.removingLastComponent().string, srcRemote: file.lastComponent!.string, dstFs: root, dstRemote: path,
                _group: group(for: size))
            try await copy(parameters, size, progress)
        }

        package func get(_ path: String, size: Int64?, to file: FilePath, progress: @escaping @Sendable (Int64) -> Void) async throws {
            let size = size ?? 64 << 20
            let parameters = CopyParameters(
                srcFs: root, srcRemote: path, dstFs: file.removingLastComponent().string, dstRemote: file.lastComponent!.string,
                _group: group(for: size))
            do {
                try await copy(parameters, size, progress)
            } catch let error as ObjectStoreError where error.kind == .wrongPassword {
                // A file that is cut off inside of a block looks so too.
                try await checkPassword()
                throw ObjectStoreError(.other, "the object cannot be decrypted; it may be cut off")
            } catch let error as ObjectStoreError where error.kind == .quota {
                throw ObjectStoreError(.diskFull, error.reason)
            }
        }

        /// The name under which rclone counts a copy's bytes: one of its own if its progress is asked for.
        ///
        /// rclone keeps what it counts, so small files share a name.
        private func group(for size: Int64) -> String {
            guard size >= Self.tellsProgress else { return "ubtransfer" }
            return groups.withLock {
                $0 += 1
                return "ubtransfer-\($0)"
            }
        }

        private func copy(_ parameters: CopyParameters, _ size: Int64, _ progress: @escaping @Sendable (Int64) -> Void) async throws {
            guard size >= Self.tellsProgress else {
                _ = try await call("operations/copyfile", parameters, as: Nothing.self, size: size)
                return
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await self.call("operations/copyfile", parameters, as: Nothing.self, size: size) }
                group.addTask {
                    while true {
                        try await Task.sleep(for: .milliseconds(500))
                        if let done = await self.done(parameters._group) { progress(done) }
                    }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }

        private struct Statistics: Decodable {
            var bytes: Int64
        }

        private struct Group: Encodable {
            var group: String
        }

        /// The bytes that a copy has moved; nil if that is unknown.
        private func done(_ group: String) async -> Int64? {
            guard let connection = try? await process.connection() else { return nil }
            return try? await connection.call("core/stats", Group(group: group), as: Statistics.self, within: .seconds(10)).bytes
        }

        private struct PathParameters: Encodable {
            var fs: String
            var remote: String
        }

        package func delete(_ path: String) async throws {
            do {
                _ = try await call("operations/deletefile", PathParameters(fs: root, remote: path), as: Nothing.self)
            } catch let error as ObjectStoreError where error.kind == .notFound {
                return
            }
        }

        private struct Item: Decodable {
            struct Facts: Decodable {
                var Size: Int64
                var IsDir: Bool
            }

            var item: Facts?
        }

        package func stat(_ path: String) async throws -> StoredObject? {
            do {
                let found = try await call("operations/stat", PathParameters(fs: root, remote: path), as: Item.self)
                return found.item.flatMap { $0.IsDir ? nil : StoredObject(path: path, size: $0.Size >= 0 ? $0.Size : nil) }
            } catch let error as ObjectStoreError where error.kind == .notFound {
                return nil
            }
        }

        private struct Rate: Encodable {
            var rate: String
        }

        package func limit(bytesPerSecond: Int64?) async throws {
            await process.set(limit: bytesPerSecond)
            _ = try await call("core/bwlimit", Rate(rate: bytesPerSecond.map { "\($0)B" } ?? "off"), as: Nothing.self)
        }
    }
#endif
