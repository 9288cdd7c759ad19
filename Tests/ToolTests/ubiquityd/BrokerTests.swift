import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// What holds between processes, with the resident broker.
@Suite(.timeLimit(.minutes(40))) struct BrokerTests {
    @Test("C-02: a writer in one process keeps a reader in another waiting until it ends", arguments: [false, true])
    func excludes(isHosted: Bool) async throws {
        try await withPlayers(2, isHosted: isHosted) { scene, players in
            let (first, second) = (players[0], players[1])
            try await first.say("write a \(scene.path("f"))")
            #expect(try await first.hears("granted a") == "granted a \(scene.path("f"))")
            try await second.say("read b \(scene.path("f"))")
            // Readers of other items go ahead.
            try await second.say("read c \(scene.path("g"))")
            try await second.hears("granted c")
            try await scene.isQueued()
            #expect(try await !second.saidSoFar().contains { $0.hasPrefix("granted b") })
            try await first.say("end a")
            try await second.hears("granted b")
            #expect(try await scene.broker().isResident == !isHosted)
        }
    }

    @Test("C-09: coordinators with one purpose do not wait for each other across processes")
    func purposes() async throws {
        try await withPlayers(2) { scene, players in
            try await players[0].say("write a \(scene.path("f")) purpose=org.example.shared")
            try await players[0].hears("granted a")
            try await players[1].say("write b \(scene.path("f")) purpose=org.example.shared")
            try await players[1].hears("granted b")
        }
    }

    @Test("C-20, C-28, C-34: a presenter in another process relinquishes first, then hears of the change and takes back")
    func messages() async throws {
        try await withPlayers(2) { scene, players in
            let (presenter, writer) = (players[0], players[1])
            try await presenter.say("present p \(scene.path("f"))")
            try await presenter.hears("presenting p")
            try await scene.knowsPresenters()
            try await writer.say("write a \(scene.path("f"))")
            try await presenter.hears("told p relinquishToWriter")
            try await writer.hears("granted a")
            #expect(try await !presenter.saidSoFar().contains("told p didChange"))
            try await writer.say("end a")
            try await presenter.hears("told p didChange")
            try await presenter.hears("told p reacquire")
        }
    }

    @Test("C-38, C-41: a claim that waits in another process follows a move, and so does a presenter")
    func moves() async throws {
        try await withPlayers(3) { scene, players in
            try Data().write(to: URL(fileURLWithPath: scene.path("old")))
            try await players[2].say("present p \(scene.path("old"))")
            try await players[2].hears("presenting p")
            try await scene.knowsPresenters()
            try await players[0].say("write a \(scene.path("old")) moving")
            try await players[0].hears("granted a")
            try await players[1].say("read b \(scene.path("old"))")
            try await scene.isQueued()
            #expect(try await players[1].saidSoFar().isEmpty)
            try await players[0].say("move a \(scene.path("old")) \(scene.path("new"))")
            try await players[0].say("end a")
            #expect(try await players[1].hears("granted b") == "granted b \(scene.path("new"))")
            try await players[2].hears("told p didMove new")
        }
    }

    @Test("A process alone with a subtree decides itself; what it holds goes to the broker when another comes")
    func delegation() async throws {
        try await withPlayers(2) { scene, players in
            let (first, second) = (players[0], players[1])
            try await first.say("count 1 \(scene.path("f"))")
            try await first.hears("counted")
            // The broker delegates on its own account, so its answer to a question comes later.
            #expect(try await scene.broker().clients.map(\.delegated) == [["/"]])
            // The broker has delegated; the process hears of it a moment later.
            try await until("it is delegated") {
                try await first.say("mode")
                return try await first.hears("mode") == "mode delegated"
            }
            try await first.say("write a \(scene.path("f"))")
            try await first.hears("granted a")
            try await second.say("write b \(scene.path("f"))")
            try await second.say("write c \(scene.path("g"))")
            try await second.hears("granted c")
            #expect(try await !second.saidSoFar().contains { $0.hasPrefix("granted b") })
            try await first.say("mode")
            #expect(try await first.hears("mode") == "mode brokered")
            try await first.say("end a")
            try await second.hears("granted b")
        }
    }

    @Test("Processes that work in different trees each get their own delegated, and lose only that which another enters")
    func separateTrees() async throws {
        try await withPlayers(2) { scene, players in
            for (index, player) in players.enumerated() {
                try await player.say("present p \(scene.path("tree\(index)"))")
                try await player.hears("presenting p")
            }
            for (index, player) in players.enumerated() {
                try await player.say("count 200 \(scene.path("tree\(index)/f"))")
                try await player.hears("counted")
            }
            let delegated = try await scene.broker().clients.flatMap(\.delegated).sorted()
            #expect(delegated == [scene.path("tree0"), scene.path("tree1")])
            try await players[0].say("write a \(scene.path("tree0/f"))")
            try await players[0].hears("granted a")
            // Waits for the delegated claim, which the broker did not know of.
            try await players[1].say("write b \(scene.path("tree0/f"))")
            try await players[1].say("read c \(scene.path("tree0/g"))")
            try await players[1].hears("granted c")
            #expect(try await !players[1].saidSoFar().contains { $0.hasPrefix("granted b") })
            try await players[0].say("end a")
            try await players[1].hears("granted b")
        }
    }

    @Test("The commands list claims with what they wait for, and say why a file is not to be had")
    func commands() async throws {
        try await withPlayers(2) { scene, players in
            try await players[0].say("write a \(scene.path("f"))")
            try await players[0].hears("granted a")
            try await players[1].say("read b \(scene.path("f")) purpose=org.example.reader")
            try await scene.isQueued()
            #expect(try await players[1].saidSoFar().isEmpty)
            struct Claims: Decodable {
                struct Claim: Decodable {
                    let process: Int32
                    let state: String
                    let items: [[String: String]]
                    let waits_for: [Wait]
                }
                struct Wait: Decodable { let process: Int32 }
                let claims: [Claim]
            }
            let outcome = try await scene.control("claims", "--json")
            let claims = try JSONDecoder().decode(Claims.self, from: Data(outcome.output.utf8)).claims
            #expect(claims.map(\.state) == ["held", "queued"])
            #expect(claims.map(\.process) == [players[0].process, players[1].process])
            #expect(claims[0].items == [["path": scene.path("f"), "access": "write"]])
            #expect(claims[1].waits_for.map(\.process) == [players[0].process])
            let why = try await scene.control("why", scene.path("f"))
            #expect(why.status == 1 && why.output.contains("by process \(players[0].process)") && why.output.contains("org.example.reader"))
            #expect(try await scene.control("why", scene.path("other")).status == 0)
            try await players[1].say("present p \(scene.path("g"))")
            try await players[1].hears("presenting p")
            #expect(try await scene.control("presenters").output.contains(scene.path("g")))
        }
    }

    @Test("A broker that is stopped by command is replaced, and nobody's claim is lost")
    func stop() async throws {
        try await withPlayers(2) { scene, players in
            try await players[0].say("write a \(scene.path("f"))")
            try await players[0].hears("granted a")
            try await players[1].say("write b \(scene.path("f"))")
            #expect(try await players[1].saidSoFar().isEmpty)
            let old = try await scene.broker()
            #expect(try await scene.control("broker", "stop").status == 0)
            try await players[1].say("write c \(scene.path("g"))")
            try await players[1].hears("granted c")
            let new = try await scene.broker()
            #expect(new.process != old.process && new.epoch > old.epoch)
            #expect(try await !players[1].saidSoFar().contains { $0.hasPrefix("granted b") })
            try await players[0].say("end a")
            try await players[1].hears("granted b")
        }
    }

    @Test("Without a broker the commands say so")
    func noBroker() async throws {
        try await withPlayers(0) { scene, _ in
            #expect(try await scene.control("broker", "status").status == 1)
            #expect(try await scene.control("broker", "stop").status == 1)
            let claims = try await scene.control("claims", "--json")
            #expect(claims.status == 0 && claims.output == "{\"claims\":[]}\n")
            // Looking has made nothing.
            #expect(!FileManager.default.fileExists(atPath: scene.runtime.string))
        }
    }
}
