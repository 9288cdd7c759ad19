import ArgumentParser
import CLinux
import FileCoordination
import Foundation
import Glibc
import Logging
import SystemPackage
import ToolSupport
import TreeWatching

/// The resident broker of file coordination.
@main
struct Ubiquityd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ubiquityd",
        abstract: "Decide which process may touch which file: the broker of a user's coordinated accesses.",
        discussion: """
            Programs start it when they need it, so no setup is necessary; it ends when no program has needed it for a while. Under systemd it may \
            be socket-activated instead (ubiquityd.socket). systemd then learns when it is ready, how many clients it has, and that it lives \
            (sd_notify(3)).

            It logs to standard error or, if a program has started it, to broker.log in its directory; if standard error is systemd's journal, to \
            the journal with fields. `ubcontrol log-level` sets the amount.

            Exit status: 0 when it ended because it was idle or asked to, 69 when another broker already serves this user or the place is unusable, \
            64 on a usage error.
            """,
        version: ToolVersion.text
    )

    @Option(
        help: ArgumentHelp(
            "The directory in which it listens.",
            discussion: "$XDG_RUNTIME_DIR/ubiquity, /run/user/<uid>/ubiquity, or a directory below ~/.local/state/ubiquity by default.",
            valueName: "dir"))
    var directory: String?

    @Option(help: ArgumentHelp("Leave after this time without clients; 0 for never.", valueName: "seconds"))
    var idle = 30.0

    @Option(help: .hidden)
    var lockDescriptor: Int32?

    @Option(help: .hidden)
    var readyDescriptor: Int32?

    static func main() { runTool(Array(CommandLine.arguments.dropFirst())) }

    func validate() throws {
        guard idle >= 0, idle < 1e9 else { throw ValidationError("--idle takes seconds, at least 0.") }
    }

    func run() throws {
        let manager = ServiceManager.ofThisProcess()
        // A broker that a client has started must not keep the client's files open.
        if let lockDescriptor, let readyDescriptor { _ = clinux_close_from(UInt32(max(lockDescriptor, readyDescriptor) + 1)) }
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        chdir("/")
        var options = BrokerServer.Options()
        options.isResident = true
        options.idle = idle == 0 ? nil : .milliseconds(Int64(idle * 1000))
        options.lock = lockDescriptor.map { closeOnExec(FileDescriptor(rawValue: $0)) }
        options.listener = activatedSocket
        // The manager of a client that has started this broker waits for the client.
        if lockDescriptor == nil, manager.isThere {
            options.pulse = manager.pulse
            options.tell = { Self.tell($0, manager) }
        }
        let place = directory.map { BrokerPlace(directory: FilePath($0)) } ?? .standard()
        let server: BrokerServer
        do {
            // The broker's own level decides about the output.
            UbiquityLog.level = .everything
            let file = lockDescriptor == nil ? nil : BrokerLogFile(in: place)
            if file == nil { JournalLog.begin("ubiquityd") }
            server = try BrokerServer(place, options, logger: file.map { UbiquityLog.logger(writingLinesTo: $0.write) } ?? .ubiquity)
        } catch {
            throw Refusal("\(error)", status: ToolExit.unavailable)
        }
        server.leave(on: [SIGTERM, SIGINT, SIGHUP])
        if let readyDescriptor {
            let ready = FileDescriptor(rawValue: readyDescriptor)
            _ = try ready.writeAll([1])
            try ready.close()
        }
        server.run()
    }

    private static func tell(_ news: BrokerNews, _ manager: ServiceManager) {
        switch news {
        case .serving(let clients): manager.tell(.ready, .status(counted(clients, "client")))
        // A readiness that was lost is told again.
        case .alive: manager.tell(.ready, .alive)
        case .leaving: manager.tell(.stopping)
        }
    }

    /// Returns the socket that systemd has passed; see sd_listen_fds(3).
    private var activatedSocket: FileDescriptor? {
        let environment = ProcessInfo.processInfo.environment
        guard environment["LISTEN_PID"] == "\(getpid())", environment["LISTEN_FDS"] == "1" else { return nil }
        let socket = FileDescriptor(rawValue: 3)
        _ = fcntl(socket.rawValue, F_SETFL, fcntl(socket.rawValue, F_GETFL) | O_NONBLOCK)
        return closeOnExec(socket)
    }

    private func closeOnExec(_ file: FileDescriptor) -> FileDescriptor {
        _ = fcntl(file.rawValue, F_SETFD, FD_CLOEXEC)
        return file
    }
}
