#if HTTP
    internal import Foundation
    internal import Glibc
    internal import Logging
    internal import ObjectTransfer
    internal import SystemPackage
    internal import TreeWatching
    internal import UbiquityContainers

    /// A running rclone that answers on a Unix socket, and is started again when it has died, hangs or has grown.
    actor RcloneProcess {
        private let program: RcloneProgram
        private let log = Logger.ubiquity
        private var running: Running?
        private var starting: Task<Running, any Error>?
        private var isChecked = false
        /// The bytes a second, which one that is started again keeps.
        private var limit: Int64?

        /// The memory above which it is started again, in bytes.
        private static let mostMemory: Int64 = 300 << 20
        /// How long it may take until it answers.
        private static let startLimit = Duration.seconds(30)

        private struct Running: Sendable {
            var process: Process
            var directory: FilePath
            var connection: RcloneConnection
        }

        init(_ program: RcloneProgram) { self.program = program }

        func set(limit: Int64?) { self.limit = limit }

        /// Returns the connection to a running rclone.
        ///
        /// - Throws: `ObjectStoreError`.
        func connection() async throws -> RcloneConnection {
            if let running {
                if running.process.isRunning { return running.connection }
                log.warning("rclone has ended with status \(running.process.terminationStatus), and is started again")
                end()
            }
            if let starting { return try await starting.value.connection }
            let task = Task { try await start() }
            starting = task
            defer { starting = nil }
            let started = try await task.value
            running = started
            return started.connection
        }

        private func start() async throws -> Running {
            if !isChecked {
                _ = try await program.checkedVersion()
                isChecked = true
            }
            Self.removeLeft()
            let directory = try Self.makeDirectory()
            let process = Process()
            process.executableURL = URL(filePath: program.path.string)
            process.currentDirectoryURL = URL(filePath: directory.string)
            let socket = directory.appending("rc.sock")
            process.arguments =
                [
                    "rcd", "--rc-addr", "unix://\(socket)", "--rc-no-auth", "--rc-server-read-timeout", "24h", "--rc-server-write-timeout", "24h",
                    "--log-level", "ERROR", "--low-level-retries", "3", "--retries", "1", "--contimeout", "15s", "--timeout", "60s",
                    "--buffer-size", "1M", "--use-mmap",
                ] + (limit.map { ["--bwlimit", "\($0)B"] } ?? []) + program.configurationArguments
            var environment = ProcessInfo.processInfo.environment
            // A password prompt would wait for ever.
            environment["RCLONE_ASK_PASSWORD"] = "false"
            environment["GOMEMLIMIT"] = "180MiB"
            process.environment = environment
            (process.standardInput, process.standardOutput, process.standardError) = (
                FileHandle.nullDevice, FileHandle.nullDevice, FileHandle.nullDevice
            )
            do {
                try process.run()
            } catch {
                throw ObjectStoreError(.unusable, "\(program.path) cannot be run (\(error.localizedDescription)).")
            }
            try? Data("\(getpid()) \(process.processIdentifier)".utf8).write(to: URL(filePath: directory.appending("pids").string))
            let running = Running(process: process, directory: directory, connection: RcloneConnection(socket: socket))
            let end = ContinuousClock.now + Self.startLimit
            while true {
                if (try? await running.connection.call("rc/noop", Nothing(), as: Nothing.self, within: .seconds(5))) != nil { return running }
                guard process.isRunning, .now < end else {
                    Self.end(running)
                    throw ObjectStoreError(
                        .unusable,
                        "\(program.path) does not begin to answer; see what it says with: rclone rcd --rc-no-auth --rc-addr unix:///tmp/try")
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }

        /// Ends what an agent has left that was killed: its rclone, and the directory of the socket.
        private static func removeLeft() {
            for parent in parents {
                for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] where name.hasPrefix(prefix) {
                    let directory = "\(parent)/\(name)"
                    guard let text = try? String(contentsOfFile: "\(directory)/pids", encoding: .utf8) else { continue }
                    let pids = text.split(separator: " ").compactMap { Int32($0) }
                    guard pids.count == 2, kill(pids[0], 0) != 0, errno == ESRCH else { continue }
                    let command = (try? Data(contentsOf: URL(filePath: "/proc/\(pids[1])/cmdline"))).map { String(decoding: $0, as: UTF8.self) }
                    if command?.contains("\(directory)/rc.sock") == true { kill(pids[1], SIGKILL) }
                    try? FileManager.default.removeItem(atPath: directory)
                }
            }
        }

        private static let prefix = "ubtransfer-"

        /// The directories in which the one of the socket is made, by preference.
        private static var parents: [String] {
            let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"].flatMap { $0.utf8.count < 60 && $0.hasPrefix("/") ? $0 : nil }
            return [runtime, "/tmp"].compactMap(\.self)
        }

        /// Makes a directory with a short path that only this user can enter.
        private static func makeDirectory() throws -> FilePath {
            for parent in parents {
                var template = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
                // mkdtemp(3) makes it with the mode 700.
                if mkdtemp(&template) != nil { return FilePath(String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)) }
            }
            throw ObjectStoreError(.unusable, "No directory for rclone's socket can be made in /tmp (\(Errno(rawValue: errno))).")
        }

        /// Starts it again at the next call, because it does not answer or holds too much memory.
        func restart(_ reason: String) {
            guard running != nil else { return }
            log.warning("rclone is started again: \(reason)")
            end()
        }

        /// Starts it again if it has grown.
        func checkMemory() {
            guard let running, running.process.isRunning,
                let status = try? String(contentsOfFile: "/proc/\(running.process.processIdentifier)/statm", encoding: .utf8),
                let pages = status.split(separator: " ").dropFirst().first.flatMap({ Int64($0) })
            else { return }
            let memory = pages * Int64(sysconf(CInt(_SC_PAGESIZE)))
            if memory > Self.mostMemory { restart("it holds \(memory >> 20) MB") }
        }

        func end() {
            guard let running else { return }
            self.running = nil
            Self.end(running)
        }

        private static func end(_ running: Running) {
            if running.process.isRunning { kill(running.process.processIdentifier, SIGKILL) }
            try? FileManager.default.removeItem(atPath: running.directory.string)
        }

        deinit { if let running { Self.end(running) } }
    }

    /// No parameters, or an answer of which nothing is read.
    struct Nothing: Codable {}
#endif
