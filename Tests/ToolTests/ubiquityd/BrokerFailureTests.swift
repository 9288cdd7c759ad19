import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// Every line of the failure table, with real processes and real signals.
@Suite(.timeLimit(.minutes(40))) struct BrokerFailureTests {
    @Test("An idle broker that is killed is replaced for the next client", arguments: [false, true])
    func idleBrokerKilled(isHosted: Bool) async throws {
        try await withPlayers(3, isHosted: isHosted) { scene, players in
            try await players[0].say("count 1 \(scene.path("f"))")
            try await players[0].hears("counted")
            let old = try await scene.broker()
            #expect(isHosted == (old.process == players[0].process))
            kill(old.process, SIGKILL)
            try await players[1].say("count 1 \(scene.path("f"))")
            try await players[1].hears("counted")
            #expect(try await scene.broker().epoch > old.epoch)
        }
    }

    @Test("When the broker is killed while a claim is held, nobody else gets the item before its holder ends", arguments: [false, true])
    func holderOutlivesBroker(isHosted: Bool) async throws {
        try await withPlayers(4, isHosted: isHosted) { scene, players in
            // The first one is the host where there is no resident broker.
            try await players[3].say("count 1 \(scene.path("x"))")
            try await players[3].hears("counted")
            let (holder, waiter, newcomer) = (players[0], players[1], players[2])
            try await holder.say("write a \(scene.path("f"))")
            try await holder.hears("granted a")
            try await waiter.say("write b \(scene.path("f"))")
            #expect(try await waiter.saidSoFar().isEmpty)
            let old = try await scene.broker()
            kill(old.process, SIGKILL)
            try await newcomer.say("write c \(scene.path("f"))")
            try await newcomer.say("write d \(scene.path("g"))")
            try await newcomer.hears("granted d")
            #expect(try await scene.broker().epoch > old.epoch)
            for other in [waiter, newcomer] { #expect(try await !other.saidSoFar().contains { $0.hasPrefix("granted") }) }
            try await holder.say("end a")
            // Both get it, in the order in which they came back.
            try await waiter.say("end b")
            try await newcomer.say("end c")
            try await waiter.hears("ended b")
            try await newcomer.hears("ended c")
        }
    }

    @Test("When the broker is killed with a relinquish under way, the presenter hears of it once, and the claim goes on with its answer")
    func relinquishOutlivesBroker() async throws {
        try await withPlayers(2) { scene, players in
            let (presenter, writer) = (players[0], players[1])
            try await presenter.say("present p \(scene.path("f")) silent")
            try await presenter.hears("presenting p")
            try await scene.knowsPresenters()
            try await writer.say("write a \(scene.path("f"))")
            try await presenter.hears("told p relinquishToWriter")
            let old = try await scene.broker()
            kill(old.process, SIGKILL)
            // Both are back once the new one lists them.
            try await until("both are connected") { try await scene.status()?.clients.count == 2 }
            #expect(try await !writer.saidSoFar().contains { $0.hasPrefix("granted") })
            try await presenter.say("answer p")
            try await writer.hears("granted a")
            try await writer.say("end a")
            try await presenter.hears("told p reacquire")
            #expect(try await !presenter.saidSoFar().contains("told p relinquishToWriter"))
        }
    }

    @Test("C-12: when a holder is killed its claim ends at once, and presenters hear of a change")
    func holderKilled() async throws {
        try await withPlayers(3) { scene, players in
            try await players[2].say("present p \(scene.path("f"))")
            try await players[2].hears("presenting p")
            try await scene.knowsPresenters()
            try await players[0].say("write a \(scene.path("f"))")
            try await players[0].hears("granted a")
            try await players[1].say("read b \(scene.path("f"))")
            try await scene.isQueued()
            #expect(try await players[1].saidSoFar().isEmpty)
            kill(players[0].process, SIGKILL)
            try await players[1].hears("granted b")
            try await players[2].hears("told p didChange")
        }
    }

    @Test("When a holder that was delegated its claim is killed, its claim ends too")
    func delegatedHolderKilled() async throws {
        try await withPlayers(2) { scene, players in
            try await players[0].say("count 1 \(scene.path("f"))")
            try await players[0].hears("counted")
            // The broker delegates when it comes to it.
            repeat { try await players[0].say("mode") } while try await players[0].hears("mode") != "mode delegated"
            try await players[0].say("write a \(scene.path("f"))")
            try await players[0].hears("granted a")
            try await players[0].pause()
            try await players[1].say("write b \(scene.path("f"))")
            try await scene.isQueued()
            #expect(try await players[1].saidSoFar().isEmpty)
            players[0].tool.signal(SIGKILL)
            try await players[1].hears("granted b")
        }
    }

    @Test("A forked child that keeps the socket open does not keep its dead parent's claims")
    func forkedChild() async throws {
        try await withPlayers(2) { scene, players in
            try await players[1].say("count 1 \(scene.path("f"))")
            try await players[1].hears("counted")
            try await players[0].say("write a \(scene.path("f"))")
            try await players[0].hears("granted a")
            try await players[0].say("fork")
            let child = try #require(Int32(try await players[0].hears("forked").dropFirst(7)))
            defer { kill(child, SIGKILL) }
            try await players[1].say("write b \(scene.path("f"))")
            try await scene.isQueued()
            #expect(try await players[1].saidSoFar().isEmpty)
            kill(players[0].process, SIGKILL)
            try await players[1].hears("granted b")
            #expect(kill(child, 0) == 0)
        }
    }

    @Test("C-60: when a presenter that is being waited for is killed, its answers count as given")
    func presenterKilled() async throws {
        try await withPlayers(2) { scene, players in
            try await players[0].say("present p \(scene.path("f")) silent")
            try await players[0].hears("presenting p")
            try await scene.knowsPresenters()
            try await players[1].say("write a \(scene.path("f"))")
            try await players[0].hears("told p relinquishToWriter")
            kill(players[0].process, SIGKILL)
            try await players[1].hears("granted a")
        }
    }

    @Test("C-62: a stopped presenter is passed over, and hears of one change when it goes on")
    func presenterStopped() async throws {
        try await withPlayers(2) { scene, players in
            let (presenter, writer) = (players[0], players[1])
            try await presenter.say("present p \(scene.path("f"))")
            try await presenter.hears("presenting p")
            try await scene.knowsPresenters()
            try await presenter.pause()
            for _ in 0..<3 {
                try await writer.say("write a \(scene.path("f"))")
                try await writer.hears("granted a")
                try await writer.say("end a")
                try await writer.hears("ended a")
            }
            let listing = try await scene.control("presenters", "--json")
            #expect(listing.output.contains("\"stopped\":true"))
            presenter.tool.signal(SIGCONT)
            try await presenter.hears("told p didChange")
            // The relinquishment that it had got before it was found stopped is taken back.
            try await presenter.hears("told p relinquishToWriter")
            try await presenter.hears("told p reacquire")
            // Whatever else was sent comes before the question of another writer.
            try await writer.say("write b \(scene.path("f"))")
            try await presenter.hears("told p relinquishToWriter")
            #expect(try await !presenter.saidSoFar().contains("told p didChange"))
            try await writer.hears("granted b")
        }
    }

    @Test("C-62, C-61: for a stopped holder one waits, it shows in the listing, and deadlines name it")
    func holderStopped() async throws {
        try await withPlayers(2) { scene, players in
            try await players[0].say("write a \(scene.path("f"))")
            try await players[0].hears("granted a")
            // Connected before the deadline counts.
            try await players[1].say("count 1 \(scene.path("g"))")
            try await players[1].hears("counted")
            try await players[0].pause()
            let failure = try await failure(of: players[1], "b", "read b \(scene.path("f")) deadline=100")
            #expect(failure.contains("deadlineExceeded") && failure.contains("process \(players[0].process)"))
            try await players[1].say("read c \(scene.path("f"))")
            try await scene.isQueued()
            #expect(try await players[1].saidSoFar().isEmpty)
            #expect(try await scene.control("claims", "--json").output.contains("\"stopped\":true"))
            players[0].tool.signal(SIGCONT)
            try await players[0].say("end a")
            try await players[1].hears("granted c")
        }
    }

    /// The failure of an access whose deadline the broker ends.
    ///
    /// A broker that the machine holds up for a second cannot say whom the access waits for, and it is tried again.
    private func failure(of player: Player, _ name: String, _ request: String) async throws -> String {
        var failure = ""
        for _ in 0..<20 {
            try await player.say(request)
            failure = try await player.hears("failed \(name)")
            if !failure.contains("the broker of file coordination does not answer") { break }
        }
        return failure
    }

    @Test("A stopped process that was delegated everything and holds nothing is in nobody's way")
    func delegateStopped() async throws {
        try await withPlayers(2) { scene, players in
            try await players[0].say("count 1 \(scene.path("f"))")
            try await players[0].hears("counted")
            _ = try await scene.broker()
            // The broker has delegated; the process hears of it a moment later.
            try await until("it is delegated") {
                try await players[0].say("mode")
                return try await players[0].hears("mode") == "mode delegated"
            }
            try await players[0].pause()
            try await players[1].say("write b \(scene.path("f"))")
            try await players[1].hears("granted b")
            players[0].tool.signal(SIGCONT)
            // It does not take what it no longer has.
            try await players[0].say("write a \(scene.path("f"))")
            #expect(try await !players[0].saidSoFar().contains { $0.hasPrefix("granted a") })
            try await players[1].say("end b")
            try await players[0].hears("granted a")
        }
    }

    @Test("A stopped holder keeps its claim over the broker's death, and another program gets its own")
    func stoppedHolderAndDeadBroker() async throws {
        try await withPlayers(3) { scene, players in
            try await players[0].say("write a \(scene.path("f"))")
            try await players[0].hears("granted a")
            try await players[1].say("count 1 \(scene.path("g"))")
            try await players[1].hears("counted")
            try await players[0].pause()
            kill(try await scene.broker().process, SIGKILL)
            try await players[1].say("write b \(scene.path("f")) deadline=2500")
            try await players[1].say("write c \(scene.path("g"))")
            try await players[1].hears("granted c")
            // Longer than a broker waits for those who could come back.
            #expect(try await players[1].hears("failed b").contains("deadlineExceeded"))
            try await players[1].say("write d \(scene.path("f"))")
            players[0].tool.signal(SIGCONT)
            try await players[0].say("end a")
            try await players[1].hears("granted d")
        }
    }

    @Test("C-61: for a live presenter that never answers one waits, and a deadline's error names it")
    func presenterSilent() async throws {
        try await withPlayers(2) { scene, players in
            try await players[0].say("present p \(scene.path("f")) silent")
            try await players[0].hears("presenting p")
            try await scene.knowsPresenters()
            try await players[1].say("count 1 \(scene.path("g"))")
            try await players[1].hears("counted")
            let failure = try await failure(of: players[1], "a", "write a \(scene.path("f")) deadline=200")
            #expect(failure.contains("presenter of \(scene.path("f")) in process \(players[0].process)"))
            #expect(failure.contains("relinquishPresentedItemToWriter"))
            // The question stands: another access waits for the answer, and without a deadline for as long as it takes.
            try await players[1].say("write b \(scene.path("f"))")
            try await scene.isAsking()
            #expect(try await !players[1].saidSoFar().contains { $0.hasSuffix(" b") || $0.hasPrefix("granted b") })
            for _ in 0..<8 { try await players[0].say("answer p") }
            try await players[1].hears("granted b")
        }
    }

    @Test("When many processes start a broker at once there is one", arguments: [false, true])
    func simultaneousStart(isHosted: Bool) async throws {
        try await withPlayers(6, isHosted: isHosted) { scene, players in
            for player in players { try await player.say("write a \(scene.path("f"))") }
            for _ in players {
                var holders: [Player] = []
                // That the broker has granted it does not say that its holder has heard.
                while holders.isEmpty {
                    for player in players where try await player.saidSoFar().contains(where: { $0.hasPrefix("granted a") }) { holders.append(player) }
                }
                try #require(holders.count == 1)
                let holder = holders[0]
                try await holder.hears("granted a")
                try await holder.say("end a")
                try await holder.hears("ended a")
            }
            #expect(try await scene.broker().clients.count == 6)
        }
    }

    @Test("A broker whose socket is removed binds it again")
    func socketRemoved() async throws {
        try await withPlayers(2) { scene, players in
            try await players[0].say("write a \(scene.path("f"))")
            try await players[0].hears("granted a")
            let broker = try await scene.broker()
            try FileManager.default.removeItem(atPath: scene.runtime.appending("broker.socket").string)
            try await players[1].say("write b \(scene.path("f"))")
            try await players[1].say("write c \(scene.path("g"))")
            try await players[1].hears("granted c")
            #expect(try await !players[1].saidSoFar().contains { $0.hasPrefix("granted b") })
            let now = try await scene.broker()
            #expect(now.process == broker.process && now.epoch == broker.epoch)
        }
    }

    @Test("A stale socket file is replaced")
    func staleSocket() async throws {
        try await withPlayers(1) { scene, players in
            try FileManager.default.createDirectory(
                atPath: scene.runtime.string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            // Nobody listens on a plain file, and connecting to it is refused like to a dead broker's socket.
            try Data().write(to: URL(fileURLWithPath: scene.runtime.appending("broker.socket").string))
            try await players[0].say("write a \(scene.path("f"))")
            try await players[0].hears("granted a")
            #expect(try await scene.broker().isResident)
        }
    }

    @Test("Without inotify watches claims still work, and presenters degrade with one warning")
    func noWatches() async throws {
        try await withPlayers(0) { scene, _ in
            let player = try await scene.participant(watches: 20)
            for index in 0..<30 {
                let name = scene.path("d\(index)")
                try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: true)
                try await player.say("present p\(index) \(name)")
                try await player.hears("presenting p\(index)")
            }
            try await player.say("write a \(scene.path("d29/f"))")
            try await player.hears("granted a")
            try await player.say("end a")
            try await player.hears("ended a")
            // The watching thread may come to the limit only now.
            func errors() -> String { (try? String(contentsOfFile: scene.errors.string, encoding: .utf8)) ?? "" }
            try await until("the warning is written", seen: errors) { errors().contains("hear late of uncoordinated changes") }
            try await player.say("quit")
            _ = try await player.tool.end()
            #expect(errors().components(separatedBy: "hear late of uncoordinated changes").count == 2, "\(errors())")
        }
    }

    @Test("Without descriptors claims still work, and presenters degrade with one warning")
    func noDescriptors() async throws {
        // A limit of 40 descriptors: enough for a claim, and not for watching many presented directories.
        try await withPlayers(1) { scene, players in
            try await players[0].say("count 1 \(scene.path("f"))")
            try await players[0].hears("counted")
            let limited = try await Tool.run("/usr/bin/prlimit", ["--pid", "\(players[0].process)", "--nofile=40:40"])
            try #require(limited.status == 0, "\(limited)")
            for index in 0..<30 {
                let name = scene.path("d\(index)")
                try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: true)
                try await players[0].say("present p\(index) \(name)")
                try await players[0].hears("presenting p\(index)")
            }
            try await players[0].say("write a \(scene.path("d29/f"))")
            try await players[0].hears("granted a")
            try await players[0].say("end a")
            try await players[0].say("quit")
            let errors = try await players[0].tool.end().errors
            #expect(errors.components(separatedBy: "do not hear of uncoordinated changes").count == 2, "\(errors)")
        }
    }
}
