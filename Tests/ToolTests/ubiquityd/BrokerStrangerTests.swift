import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// Other users, and other ways to start the broker.
@Suite(.timeLimit(.minutes(40))) struct BrokerStrangerTests {
    @Test("A process of another user is refused by name, and the others are served", .enabled(if: geteuid() == 0))
    func otherUser() async throws {
        try await withPlayers(2) { scene, players in
            try await players[0].say("count 1 \(scene.path("f"))")
            try await players[0].hears("counted")
            // Opened by hand: the directory alone keeps others out.
            for (path, mode) in [(scene.runtime, 0o755), (scene.runtime.appending("broker.socket"), 0o777)] as [(FilePath, mode_t)] {
                chmod(path.string, mode)
            }
            let code = """
                import socket, sys
                s = socket.socket(socket.AF_UNIX)
                s.connect(sys.argv[1])
                data = b''
                while True:
                    part = s.recv(4096)
                    if not part: break
                    data += part
                sys.stdout.write(data[13:].decode('utf8', 'replace'))
                """
            let stranger = try await Tool.run(
                "/usr/bin/setpriv",
                [
                    "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", code,
                    scene.runtime.appending("broker.socket").string,
                ])
            #expect(stranger.output.contains("This broker serves user \(geteuid()), not 65534"), "\(stranger)")
            chmod(scene.runtime.string, 0o700)
            try await players[1].say("count 1 \(scene.path("g"))")
            try await players[1].hears("counted")
        }
    }

    @Test(
        "A place that belongs to another user is refused with a remedy, and nothing is accessed without coordination", .enabled(if: geteuid() == 0))
    func otherUsersPlace() async throws {
        try await withPlayers(1) { scene, players in
            try FileManager.default.createDirectory(
                atPath: scene.runtime.string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try #require(chown(scene.runtime.string, 65534, 65534) == 0)
            try await players[0].say("write a \(scene.path("f"))")
            let failure = try await players[0].hears("failed a")
            #expect(failure.contains("brokerUnavailable") && failure.contains("belongs to user 65534") && failure.contains("XDG_RUNTIME_DIR"))
        }
    }

    @Test("A broker whose socket was opened by systemd serves, and leaves the socket behind")
    func socketActivation() async throws {
        try await withPlayers(1) { scene, players in
            try FileManager.default.createDirectory(
                atPath: scene.runtime.string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let code = """
                import os, socket, sys
                s = socket.socket(socket.AF_UNIX)
                s.bind(sys.argv[2] + '/new.socket')
                s.listen(16)
                os.rename(sys.argv[2] + '/new.socket', sys.argv[2] + '/broker.socket')
                if s.fileno() != 3: os.dup2(s.fileno(), 3)
                os.set_inheritable(3, True)
                os.environ['LISTEN_PID'] = str(os.getpid())
                os.environ['LISTEN_FDS'] = '1'
                os.execv(sys.argv[1], [sys.argv[1], '--directory', sys.argv[2], '--idle', '0'])
                """
            let activated = try await RunningTool(
                "/usr/bin/python3", ["-c", code, Tool.path("ubiquityd").string, scene.runtime.string], environment: scene.environment)
            try await until("the socket is there") { FileManager.default.fileExists(atPath: scene.runtime.appending("broker.socket").string) }
            try await players[0].say("write a \(scene.path("f"))")
            try await players[0].hears("granted a")
            #expect(try await scene.broker().process == activated.identifier)
            try await activated.stop()
            #expect(FileManager.default.fileExists(atPath: scene.runtime.appending("broker.socket").string))
        }
    }

    @Test("A second broker at one place ends with status 69 and says why")
    func secondBroker() async throws {
        try await withPlayers(1) { scene, players in
            try await players[0].say("count 1 \(scene.path("f"))")
            try await players[0].hears("counted")
            let second = try await Tool.run("ubiquityd", ["--directory", scene.runtime.string])
            #expect(second.status == 69 && second.errors.contains("has a broker already"))
        }
    }

    @Test("A broker without clients leaves, and takes its socket along")
    func idle() async throws {
        try await withPlayers(0) { scene, _ in
            let broker = try await RunningTool("ubiquityd", ["--directory", scene.runtime.string, "--idle", "0.05"], environment: scene.environment)
            let outcome = try await broker.end()
            #expect(outcome.status == 0)
            #expect(!FileManager.default.fileExists(atPath: scene.runtime.appending("broker.socket").string))
        }
    }
}
