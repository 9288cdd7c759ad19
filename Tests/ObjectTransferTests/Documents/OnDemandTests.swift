import FileCoordination
import Foundation
import Glibc
import ObjectTransfer
import Synchronization
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import UbiquityTesting
import Waiting

private let identifier = "org.example.simulated"

/// Two devices with agents that are processes, and an app that is this process.
private struct DocumentWorld {
    let world: AgentWorld
    let mac: AgentDevice
    let phone: AgentDevice
    let containers: (mac: UbiquityContainer, phone: UbiquityContainer)

    /// Runs a body with two devices whose containers are there; nothing is transferred yet.
    static func with(_ kind: String = "directory", _ body: (DocumentWorld) async throws -> Void) async throws {
        try await AgentWorld.with { world in
            let server = kind == "directory" ? nil : try await CloudServer(kind, in: world.directory.appending("server"))
            do {
                let mac = try world.device("mac", try await server?.configuration(named: "mac"))
                let phone = try world.device("phone", try await server?.configuration(named: "phone"))
                let containers = (
                    try await UbiquityContainer(identifier, home: mac.device.home), try await UbiquityContainer(identifier, home: phone.device.home)
                )
                for container in [containers.0, containers.1] {
                    try FileManager.default.createDirectory(atPath: container.documents.string, withIntermediateDirectories: true)
                }
                try await body(DocumentWorld(world: world, mac: mac, phone: phone, containers: containers))
            } catch {
                try? await server?.stop()
                throw error
            }
            try await server?.stop()
        }
    }

    func url(_ name: String, on container: UbiquityContainer) -> URL { URL(filePath: container.documents.appending(name).string) }

    /// Lets both agents transfer until a condition holds.
    func transfer(until what: String, _ condition: () async throws -> Bool) async throws {
        try await until(
            what, limit: .seconds(120),
            seen: {
                "\((try? await mac.client.status()).map { "\($0)" } ?? "no agent") \((try? await phone.client.status()).map { "\($0)" } ?? "no agent")"
            }
        ) {
            for device in [mac, phone] where device.client.hasAgent { try await device.transfer() }
            return try await condition()
        }
    }

    func text(_ url: URL) -> String? { try? String(contentsOf: url, encoding: .utf8) }
}

/// Documents that are evicted, fetched and waited for, with real processes.
@Suite(.serialized)
struct OnDemandTests {
    @Test(
        "K-12, K-13, K-15, K-16, U-71, U-72, U-75: over each cloud, a document is evicted and fetched on demand, tells its values before, a read waits for it, and concurrent edits are versions in conflict",
        arguments: ["directory", "webdav", "s3"])
    func wholeWay(_ kind: String) async throws {
        try await DocumentWorld.with(kind) { world in
            let agents = [try await world.mac.start(), try await world.phone.start()]
            let (mac, phone) = world.containers
            let (here, there) = (world.url("Letter.txt", on: mac), world.url("Letter.txt", on: phone))
            let deck = world.url("Deck.key", on: mac)
            try FileManager.default.createDirectory(at: deck.appending(path: "Data"), withIntermediateDirectories: true)
            try Data("index".utf8).write(to: deck.appending(path: "Index.xml"))
            try Data("picture".utf8).write(to: deck.appending(path: "Data/a.png"))
            try Data("text".utf8).write(to: here)
            try await world.transfer(until: "the documents are on both devices") {
                world.text(there) == "text" && world.text(world.url("Deck.key/Data/a.png", on: phone)) == "picture"
            }
            try await world.transfer(until: "they are current") { try await phone.resourceValues(of: there)?.state.status == .current }
            // While another process has it open, it stays.
            let holder = try await RunningTool("/usr/bin/tail", ["-f", there.path])
            try await until("tail has the file open") {
                let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(holder.identifier)/fd")
                return files?.contains {
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(holder.identifier)/fd/\($0)")) == there.path
                } == true
            }
            let refused = try await Tool.run("ubcontrol", ["item", "evict", there.path, "--home", world.phone.device.home.path.string])
            #expect(refused.status == 1 && refused.errors.contains(inUse), "\(refused)")
            #expect(world.text(there) == "text")
            _ = try await holder.stop()
            var evicted = refused
            try await until("the document is evicted", seen: { "\(evicted)" }) {
                evicted = try await Tool.run("ubcontrol", ["item", "evict", there.path, "--home", world.phone.device.home.path.string])
                return evicted.status == 0
            }
            try await onceClosed { try await phone.evict(world.url("Deck.key", on: phone)) }
            let cat = try await Tool.run("/usr/bin/cat", [there.path])
            #expect(cat.status == 1 && cat.output.isEmpty && cat.errors.contains("No such file or directory"), "\(cat)")
            // It tells its values without a download, and while somebody else holds a write of it.
            let modified = try #require(try FileManager.default.attributesOfItem(atPath: here.path)[.modificationDate] as? Date)
            let values = try #require(
                try await FileCoordinator().write(there) { url in
                    try await Task.detached { try await phone.resourceValues(of: url) }.value
                })
            #expect(values.name == "Letter.txt" && values.fileSize == 4 && abs(values.contentModificationDate.timeIntervalSince(modified)) < 0.002)
            #expect(!values.isHere && values.ubiquitousItemDownloadingStatus == .notDownloaded && !values.isDirectory)
            #expect(world.text(there) == nil)
            // A read waits for it, also for a file in a package.
            #expect(try await FileCoordinator().read(there) { try String(contentsOf: $0, encoding: .utf8) } == "text")
            let picture = world.url("Deck.key/Data/a.png", on: phone)
            #expect(try await FileCoordinator().read(picture) { try String(contentsOf: $0, encoding: .utf8) } == "picture")
            // Started, or unneeded: both succeed.
            try await phone.startDownloading(there)
            try await onceClosed { try await phone.evict(there) }
            try await phone.startDownloading(there)
            try await until("it is here again") { world.text(there) == "text" }
            try await phone.startDownloading(there)
            // Both edit while neither hears of the other.
            for device in [world.mac, world.phone] { _ = try await device.client.ask(.pause) }
            try Data("from the mac".utf8).write(to: here)
            try Data("from the phone".utf8).write(to: there)
            for device in [world.mac, world.phone] { _ = try await device.client.ask(.resume) }
            try await world.transfer(until: "both show the conflict") {
                guard let text = world.text(here), text == world.text(there) else { return false }
                for url in [here, there] {
                    guard let versions = try await FileVersion.unresolvedConflictVersions(ofItemAt: url), versions.count == 1,
                        let lost = world.text(versions[0].url)
                    else { return false }
                    guard Set([text, lost]) == ["from the mac", "from the phone"] else { return false }
                }
                return true
            }
            for version in try await FileVersion.unresolvedConflictVersions(ofItemAt: here) ?? [] { try await version.setResolved(true) }
            try await FileVersion.removeOtherVersions(ofItemAt: here)
            try await world.transfer(until: "the conflict is over on both") {
                let left = try await FileVersion.otherVersions(ofItemAt: there) ?? []
                let statuses = [try await mac.resourceValues(of: here)?.state.status, try await phone.resourceValues(of: there)?.state.status]
                return left.isEmpty && statuses == [.current, .current]
            }
            for agent in agents { _ = try await agent.stop() }
        }
    }

    @Test("U-68, U-74: presenters are asked, one that does not support eviction refuses, and the same task may hold a write")
    func presenters() async throws {
        try await DocumentWorld.with { world in
            let agent = try await world.mac.start()
            let container = world.containers.mac
            let url = world.url("Letter.txt", on: container)
            try Data("text".utf8).write(to: url)
            try await world.transfer(until: "it is current") { try await container.resourceValues(of: url)?.state.status == .current }
            let deaf = DeafPresenter(url)
            FileCoordinator.addFilePresenter(deaf)
            await #expect { try await container.evict(url) } throws: { "\($0)".contains("does not support eviction") }
            #expect(world.text(url) == "text")
            FileCoordinator.removeFilePresenter(deaf)
            // One that vetoes, and one that lets it go.
            let presenter = EvictionPresenter(url)
            FileCoordinator.addFilePresenter(presenter)
            presenter.vetoes.withLock { $0 = true }
            await #expect { try await container.evict(url) } throws: { ($0 as? CocoaError)?.code == .userCancelled }
            #expect(world.text(url) == "text" && presenter.asked.withLock { $0 } == 1)
            presenter.vetoes.withLock { $0 = false }
            try await onceClosed { try await container.evict(url) }
            #expect(world.text(url) == nil && presenter.asked.withLock { $0 } >= 2)
            FileCoordinator.removeFilePresenter(presenter)
            // The placeholder says what the document is.
            let placeholder = try #require(Placeholder(at: Placeholder.path(of: FilePath(url.path))))
            #expect(placeholder.name == "Letter.txt" && placeholder.size == 4)
            // A write does not wait for the bytes.
            try await FileCoordinator().write(url) { url in
                #expect(!FileManager.default.fileExists(atPath: url.path))
                try Data("new".utf8).write(to: url)
            }
            try await world.transfer(until: "it is current again") { try await container.resourceValues(of: url)?.state.status == .current }
            #expect(Placeholder(at: Placeholder.path(of: FilePath(url.path))) == nil)
            // The task that holds a write may evict; another one waits for it.
            try await FileCoordinator().write(url) { url in
                await #expect { try await Task.detached { try await container.evict(url, deadline: .after(.milliseconds(200))) }.value } throws: {
                    ($0 as? FileCoordinationError)?.code == .deadlineExceeded
                }
                try await onceClosed { try await container.evict(url) }
            }
            #expect(world.text(url) == nil)
            _ = try await agent.stop()
        }
    }

    @Test("U-72: a read that cannot be served fails with the reason, one with a deadline ends at it, and reads of metadata do not wait")
    func reads() async throws {
        try await DocumentWorld.with { world in
            var agent = try await world.mac.start()
            let container = world.containers.mac
            let url = world.url("Letter.txt", on: container)
            try Data("text".utf8).write(to: url)
            try await world.transfer(until: "it is current") { try await container.resourceValues(of: url)?.state.status == .current }
            try await onceClosed { try await container.evict(url) }
            #expect(
                try await FileCoordinator().read(url, options: .immediatelyAvailableMetadataOnly) { FileManager.default.fileExists(atPath: $0.path) }
                    == false)
            // The cloud has lost it.
            let blobs = world.world.cloud.appending("alice/blobs").string
            try FileManager.default.moveItem(atPath: blobs, toPath: blobs + ".away")
            await #expect { try await FileCoordinator().read(url) { _ in } } throws: {
                ($0 as? FileCoordinationError)?.code == .downloadFailed && "\($0)".contains("There is no such file")
            }
            // An agent that is stopped answers nothing. Running, it would fetch the document by itself: somebody asked for it.
            agent.signal(SIGSTOP)
            try await until("the agent has stopped") { [agent] in ProcessFacts(agent.identifier).isStopped }
            try FileManager.default.moveItem(atPath: blobs + ".away", toPath: blobs)
            await #expect { try await FileCoordinator().read(url, deadline: .after(.milliseconds(300))) { _ in } } throws: {
                ($0 as? FileCoordinationError)?.code == .deadlineExceeded && "\($0)".contains("still being fetched")
            }
            let reading = Task { try await FileCoordinator().read(url) { _ in } }
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await within("the cancelled read") { try await reading.value } }
            agent.signal(SIGCONT)
            let text = try await blockingRead(url)
            #expect(text == "text")
            // What the reads that have ended have asked for ends with the agent; served late, it would bring the document back.
            _ = try await agent.stop()
            agent = try await world.mac.start()
            try await world.transfer(until: "it is current again") { try await container.resourceValues(of: url)?.state.status == .current }
            try await onceClosed { try await container.evict(url) }
            _ = try await agent.stop()
            await #expect { try await FileCoordinator().read(url) { _ in } } throws: {
                ($0 as? FileCoordinationError)?.code == .downloadFailed && "\($0)".contains("no transfer agent runs")
            }
            await #expect { try await container.startDownloading(url) } throws: { ($0 as? ContainerError)?.code == .notAvailable }
        }
    }

    /// Reads in the blocking form, on a thread of its own.
    private func blockingRead(_ url: URL) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result { try FileCoordinator().coordinate(readingItemAt: url) { try String(contentsOf: $0, encoding: .utf8) } })
            }
        }
    }

    @Test(
        "K-14: an eviction that is killed leaves the document or its placeholder, and every byte is found again",
        arguments: ["evict.leased", "evict.veiled", "evict.moved", "evict.checked", "evict.unlinked", "evict.recorded"].map { ($0, "directory") } + [
            ("evict.moved", "webdav"), ("evict.unlinked", "s3"),
        ])
    func killedEviction(_ point: String, _ kind: String) async throws {
        try await DocumentWorld.with(kind) { world in
            let other = try await world.phone.start()
            let container = world.containers.mac
            let (letter, deck) = (world.url("Letter.txt", on: container), world.url("Deck.key", on: container))
            try FileManager.default.createDirectory(at: deck, withIntermediateDirectories: true)
            try Data("index".utf8).write(to: deck.appending(path: "Index.xml"))
            try Data("text".utf8).write(to: letter)
            var agent = try await world.mac.start()
            try await world.transfer(until: "both are there") {
                world.text(world.url("Letter.txt", on: world.containers.phone)) == "text"
                    && world.text(world.url("Deck.key/Index.xml", on: world.containers.phone)) == "index"
            }
            for url in [letter, deck] {
                _ = try await agent.stop()
                agent = try await world.mac.start(["UBIQUITY_KILL_AT": point])
                // Until then it refuses, and is not killed.
                try await world.transfer(until: "it is current") { try await container.resourceValues(of: url)?.state.status == .current }
                await #expect(throws: (any Error).self) { try await onceClosed { try await container.evict(url) } }
                let outcome = try await within("the agent is killed") { [agent] in try await agent.end() }
                #expect(outcome.signal == SIGKILL)
                let placeholder = Placeholder(at: Placeholder.path(of: FilePath(url.path)))
                #expect(FileManager.default.fileExists(atPath: url.path) || placeholder != nil)
                agent = try await world.mac.start()
                try await world.transfer(until: "it is settled") {
                    let status = try await container.resourceValues(of: url)?.state.status
                    return status == .current || status == .notDownloaded
                }
                #expect(world.text(world.url("Letter.txt", on: world.containers.phone)) == "text")
            }
            #expect(try await FileCoordinator().read(letter) { try String(contentsOf: $0, encoding: .utf8) } == "text")
            #expect(try await FileCoordinator().read(deck.appending(path: "Index.xml")) { try String(contentsOf: $0, encoding: .utf8) } == "index")
            #expect(try FileManager.default.contentsOfDirectory(atPath: container.documents.string).sorted() == ["Deck.key", "Letter.txt"])
            for agent in [agent, other] { _ = try await agent.stop() }
        }
    }

    @Test("K-13: what is saved, or opened, while an eviction is under way stays, and the eviction is refused", arguments: [true, false])
    func savedMeanwhile(_ byRename: Bool) async throws {
        try await DocumentWorld.with { world in
            let container = world.containers.mac
            let url = world.url("Letter.txt", on: container)
            try Data("text".utf8).write(to: url)
            var agent = try await world.mac.start()
            try await world.transfer(until: "it is current") { try await container.resourceValues(of: url)?.state.status == .current }
            _ = try await agent.stop()
            agent = try await world.mac.start(["UBIQUITY_STOP_AT": "evict.veiled"])
            // Before its first pass it evicts nothing.
            try await world.transfer(until: "it is current") { try await container.resourceValues(of: url)?.state.status == .current }
            let evicting = Task { try await onceClosed { try await container.evict(url) } }
            try await until("the agent has stopped") { [agent] in ProcessFacts(agent.identifier).isStopped }
            if byRename {
                // A program that saves with a rename opens nothing.
                try Data("save".utf8).write(to: url, options: .atomic)
            } else {
                // It waits for the lease, or comes too late.
                let opener = Task.detached { try? String(contentsOf: url, encoding: .utf8) }
                agent.signal(SIGCONT)
                _ = try await within("the open file") { await opener.value }
            }
            agent.signal(SIGCONT)
            if byRename {
                await #expect(throws: ContainerError.self) { try await evicting.value }
                #expect(world.text(url) == "save")
            } else {
                // Who is quick enough reads it before; who is not has kept it from going.
                _ = try? await evicting.value
            }
            try await world.transfer(until: "it is settled") {
                let status = try await container.resourceValues(of: url)?.state.status
                return status == .current || status == .notDownloaded
            }
            #expect(try await FileCoordinator().read(url) { try String(contentsOf: $0, encoding: .utf8) } == (byRename ? "save" : "text"))
            _ = try await agent.stop()
        }
    }

    @Test(
        "K-03, K-14: an agent that is killed between any two steps of sending, fetching or removing a document loses and repeats nothing",
        arguments: [
            "document.intended", "document.piece-sent", "document.piece-sent:2", "document.uploaded", "document.withdrawn", "document.piece-fetched",
            "document.assembled", "document.placed", "document.unveiled", "document.found", "document.copied", "document.removed", "document.held",
        ].map { ($0, "directory") } + [("document.uploaded", "webdav"), ("document.piece-fetched", "s3")])
    func killedTransfer(_ point: String, _ kind: String) async throws {
        try await DocumentWorld.with(kind) { world in
            let (mac, phone) = world.containers
            try await phone.setDownloadPolicy(.onDemand)
            for number in 0..<3 { try Data("text \(number)".utf8).write(to: world.url("\(number).txt", on: mac)) }
            try Data("mine".utf8).write(to: world.url("own.txt", on: phone))
            // Each device runs with the kill point until it is killed or nothing is left, and then without it.
            func settle(_ body: (() throws -> Void)? = nil) async throws {
                try body?()
                for device in [world.mac, world.phone, world.mac, world.phone] {
                    let doomed = try await RunningTool(
                        "ubtransfer", ["--home", device.device.home.path.string], environment: ["UBIQUITY_KILL_AT": point])
                    let hasEnded = Mutex(false)
                    let end = Task {
                        _ = try? await doomed.end()
                        hasEnded.withLock { $0 = true }
                    }
                    // It may be killed before it answers.
                    try await until("the agent answers, or is killed") { device.client.hasAgent || hasEnded.withLock { $0 } }
                    for _ in 0..<4 where device.client.hasAgent { _ = try? await device.transfer() }
                    doomed.signal(SIGTERM)
                    try await within("the agent's end") { await end.value }
                }
            }
            try await settle()
            try await settle {
                try Data("from the mac".utf8).write(to: world.url("1.txt", on: mac))
                try FileManager.default.removeItem(at: world.url("2.txt", on: mac))
            }
            let agents = [try await world.mac.start(), try await world.phone.start()]
            try await world.transfer(until: "everything is where it should be") {
                try FileManager.default.contentsOfDirectory(atPath: mac.documents.string).filter { !$0.hasPrefix(".") }.sorted() == [
                    "0.txt", "1.txt", "own.txt",
                ]
                    && phone.documents.string.isEmpty == false
                    && Placeholder(at: Placeholder.path(of: phone.documents.appending("1.txt")))?.size == 12
                    && Placeholder(at: Placeholder.path(of: phone.documents.appending("2.txt"))) == nil
            }
            #expect(world.text(world.url("own.txt", on: mac)) == "mine")
            for (name, text) in [("0.txt", "text 0"), ("1.txt", "from the mac")] {
                #expect(try await FileCoordinator().read(world.url(name, on: phone)) { try String(contentsOf: $0, encoding: .utf8) } == text)
            }
            for agent in agents { _ = try await agent.stop() }
        }
    }

    @Test("K-12, U-68, U-77: a query finds what is elsewhere with its state, follows evictions and fetches, and no eviction looks like a wipe")
    func queries() async throws {
        try await DocumentWorld.with { world in
            let agent = try await world.mac.start()
            let container = world.containers.mac
            for number in 0..<8 { try Data("text \(number)".utf8).write(to: world.url("\(number).txt", on: container)) }
            let urls = (0..<8).map { world.url("\($0).txt", on: container) }
            try await world.transfer(until: "all are current") {
                for url in urls where try await container.resourceValues(of: url)?.state.status != .current { return false }
                return true
            }
            try HomeSettings(world.mac.device.home).configure(["massDeletion": MassDeletionLimit(items: 2, share: 0.1)])
            let events = try container.events
            try await events.ready()
            let transport = try #require(try CloudTransport(configuredFor: container))
            let query = MetadataQuery(container, batchingInterval: .milliseconds(50), transport: { _ in transport }) { _ in true }
            query.start()
            let updates = query.updates.limited("updates").makeAsyncIterator()
            while let update = try await updates.next() { if update.kind == .gatheringFinished, update.results.count == 8 { break } }
            for url in urls.prefix(6) { try await onceClosed { try await container.evict(url) } }
            while let update = try await updates.next() {
                if update.results.count == 8, update.results.count(where: { !$0.isHere }) == 6 { break }
            }
            try await FileCoordinator().read(urls[0]) { _ in }
            while let update = try await updates.next() {
                if update.results.count == 8, update.results.count(where: { !$0.isHere }) == 5 { break }
            }
            #expect(!container.isSuspended)
            // Listings and the tool say the same.
            let listing = try await Tool.run("ubwatch", ["items", container.path.string, "--home", world.mac.device.home.path.string])
            #expect(listing.output.split(separator: "\n").count { $0.hasPrefix("notDownloaded") } == 5, "\(listing.output)")
            #expect(listing.output.split(separator: "\n").count { $0.hasPrefix("current") } == 3, "\(listing.output)")
            _ = try await agent.stop()
            let alone = try await Tool.run("ubwatch", ["items", container.path.string, "--home", world.mac.device.home.path.string])
            #expect(alone.output.split(separator: "\n").count { $0.hasPrefix("notDownloaded") } == 5, "\(alone.output)")
        }
    }

    @Test("S-173: ubcontrol item sets policies and pins, which the agent follows, and says where items are")
    func tool() async throws {
        try await DocumentWorld.with { world in
            let agents = [try await world.mac.start(), try await world.phone.start()]
            let (mac, phone) = world.containers
            func control(_ arguments: String...) async throws -> Tool.Outcome {
                try await Tool.run("ubcontrol", ["item"] + arguments + ["--home", world.phone.device.home.path.string])
            }
            #expect(try await control("policy", identifier).output == "everything\n")
            #expect(try await control("policy", identifier, "on-demand").output == "on-demand\n")
            #expect(try await control("policy", identifier, "nonsense").status == 64)
            let (here, there) = (world.url("Letter.txt", on: mac), world.url("Letter.txt", on: phone))
            try Data("text".utf8).write(to: here)
            try await world.transfer(until: "its placeholder is there") { Placeholder(at: Placeholder.path(of: FilePath(there.path))) != nil }
            #expect(world.text(there) == nil)
            #expect(try await control("status", there.path).output.contains("notDownloaded, not here"))
            #expect(try await control("pin", there.path).status == 0)
            try await world.transfer(until: "it is fetched") { world.text(there) == "text" }
            let refused = try await control("evict", there.path)
            #expect(refused.status == 1 && refused.errors.contains("kept on this device"))
            #expect(try await control("status", there.path, "--json").output.contains("\"isPinned\":true"))
            #expect(try await control("unpin", there.path).status == 0)
            var evicted = refused
            try await until("no program has the document open", seen: { "\(evicted)" }) {
                evicted = try await control("evict", there.path)
                return !evicted.errors.contains(inUse)
            }
            #expect(evicted.output == "evicted: \(there.path)\n")
            #expect(try await control("fetch", there.path).output == "fetched: \(there.path)\n")
            #expect(world.text(there) == "text")
            #expect(try await control("fetch", world.url("None.txt", on: phone).path).status == 1)
            #expect(try await control("evict", "/etc/passwd").status == 64)
            #expect(try await control("space", "1M").output == "documents are evicted below 1 MB free\n")
            #expect(try await control("space", "off").output == "off\n")
            for agent in agents { _ = try await agent.stop() }
        }
    }

    @Test("What an app asks an agent is understood by it, and its answers by the app")
    func requests() throws {
        let requests: [(ItemRequest, TransferRequest)] = [
            (.states(["a"]), .states(["a"])), (.fetch(["a"], waits: true), .fetch(["a"], waits: true)), (.evict("a"), .evict("a")),
            (.downloadsChanged, .downloadsChanged), (.follow, .follow),
        ]
        for (request, expected) in requests {
            #expect(try JSONDecoder().decode(TransferRequest.self, from: JSONEncoder().encode(request)) == expected)
        }
        var status = TransferStatus(.working)
        status.transfers = [.init(path: "a", direction: .download, done: 1, total: 2, began: Date(timeIntervalSince1970: 0))]
        let answers: [(TransferAnswer, ItemAnswer)] = [
            (.done, .done), (.failed("x"), .failed("x")),
            (.states(["a": TransferItemState(ItemState(.current))]), .states(["a": TransferItemState(ItemState(.current))])),
            (
                .status(status),
                .status(.init(transfers: [.init(path: "a", direction: "download", done: 1, total: 2, began: Date(timeIntervalSince1970: 0))]))
            ),
        ]
        for (answer, expected) in answers { #expect(try JSONDecoder().decode(ItemAnswer.self, from: JSONEncoder().encode(answer)) == expected) }
    }
}

/// A presenter that knows nothing of evictions.
private final class DeafPresenter: FilePresenter {
    let presentedItemURL: URL?
    init(_ url: URL) { presentedItemURL = url }
}

/// A presenter that lets its item go, unless it vetoes.
private final class EvictionPresenter: FilePresenter {
    let presentedItemURL: URL?
    let asked = Mutex(0)
    let vetoes = Mutex(false)
    init(_ url: URL) { presentedItemURL = url }

    func accommodatePresentedItemEviction() async throws {
        asked.withLock { $0 += 1 }
        if vetoes.withLock({ $0 }) { throw CocoaError(.userCancelled) }
    }
}
