import FileCoordination
import Foundation
import Synchronization
import SystemPackage
import Testing
import Waiting

@testable import UbiquityContainers

@Suite("What befalls a container", .timeLimit(.minutes(40)))
struct ContainerEventTests {
    /// A container in use, with items, and somebody who listens.
    private func withContainer(
        items: Int = 3, in folder: String = "Documents",
        _ body: (UbiquityContainer, LimitedSequence<ContainerEvents>.AsyncIterator) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            let root = directory.appending("root")
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            try home.signIn(AccountName("alice"), containers: root)
            let container = try await UbiquityContainer("org.example.notes", home: home)
            let place = container.path.appending(folder)
            try FileManager.default.createDirectory(atPath: place.string, withIntermediateDirectories: false)
            for index in 0..<items { try write(place.appending("\(index).txt")) }
            let events = try container.events
            try await events.ready()
            try await body(container, events.limited("an event").makeAsyncIterator())
        }
    }

    /// Does something that no look of the container's monitor sees half done, however long it takes.
    private func unseen(_ container: UbiquityContainer, _ body: @escaping @Sendable () throws -> Void) async throws {
        try await ContainerMonitor.shared(for: container).unseen(body)
    }

    private func write(_ path: FilePath) throws { try Data("text".utf8).write(to: URL(filePath: path.string)) }
    private func remove(_ path: FilePath) throws { try FileManager.default.removeItem(atPath: path.string) }
    private func move(_ from: FilePath, _ to: FilePath) throws { try FileManager.default.moveItem(atPath: from.string, toPath: to.string) }

    @Test("A container that is deleted, renamed away and put back is one event each, with what it still holds")
    func wholes() async throws {
        try await withContainer { container, events in
            let aside = container.path.removingLastComponent().appending("aside")
            try await unseen(container) { try move(container.path, aside) }
            let moved = try #require(try await events.next())
            #expect(moved.kind == .containerMoved)
            #expect(moved.held == .init())
            try move(aside, container.path)
            let back = try #require(try await events.next())
            #expect(back.kind == .restored)
            #expect(back.held == .init(items: 3, stores: [], hasMark: true))
            try await unseen(container) { try remove(container.path) }
            #expect(try await events.next()?.kind == .containerRemoved)
            #expect(!FileManager.default.fileExists(atPath: container.path.string))
        }
    }

    @Test("S-098: a wipe by any program is noticed, in a .nosync folder too, and nothing is made again")
    func foreignWipe() async throws {
        try await withContainer(items: 0) { container, events in
            let local = container.path.appending("Cache.nosync")
            try FileManager.default.createDirectory(atPath: local.string, withIntermediateDirectories: false)
            for index in 0..<150 { try write(local.appending("\(index)")) }
            // Until it is seen that the items are there they cannot be missed.
            let monitor = try ContainerMonitor.shared(for: container)
            await monitor.lookNow()
            try await unseen(container) { try remove(local) }
            let event = try #require(try await events.next())
            #expect(event.kind == .contentsRemoved)
            #expect(event.held == .init(items: 0, stores: [], hasMark: true))
            #expect(event.isSuspended)
            #expect(!FileManager.default.fileExists(atPath: local.string))
            #expect(container.attachment() == .detached(.massDeletion))
        }
    }

    @Test("The guard against mass deletion suspends stores of every process until somebody says that it was meant")
    func massDeletion() async throws {
        try await withContainer(items: 300) { container, events in
            try await unseen(container) { for index in 0..<200 { try remove(container.documents.appending("\(index).txt")) } }
            let event = try #require(try await events.next())
            #expect(event.kind == .massDeletion(removed: 200, of: 300))
            #expect(event.held.items == 100)
            #expect(event.isSuspended)
            // Another process of the device reads the same.
            let other = try await UbiquityContainer("org.example.notes", home: container.home)
            #expect(other.attachment() == .detached(.massDeletion))
            try other.resume()
            #expect(container.attachment() == .attached)
            #expect(!container.isSuspended)
        }
    }

    @Test("Deletions under coordination do not trip the guard, wherever in the container the items lie", arguments: ["Documents", "Library"])
    func coordinated(name: String) async throws {
        try await withContainer(items: 300, in: name) { container, events in
            let folder = container.path.appending(name)
            try await FileCoordinator().write(URL(filePath: folder.string), options: .forDeleting) { _ in
                for index in 0..<200 { try remove(folder.appending("\(index).txt")) }
            }
            // The next event is of what comes next.
            try remove(container.path.appending(".ubiquity"))
            let event = try #require(try await events.next())
            #expect(event.kind == .markGone)
            #expect(event.held.items == 100)
            #expect(!event.isSuspended)
        }
    }

    @Test("A deletion under coordination does not trip the guard, though the watch hears of it later than a look sees it")
    func heardLate() async throws {
        try await withContainer(items: 300) { container, events in
            let monitor = try ContainerMonitor.shared(for: container)
            let gate = try await #require(monitor.watcher).hold()
            defer { gate.signal() }
            try await FileCoordinator().write(URL(filePath: container.documents.string), options: .forDeleting) { _ in
                for index in 0..<200 { try remove(container.documents.appending("\(index).txt")) }
            }
            let look = Task { await monitor.lookAnew() }
            try await until("the look has begun") { await monitor.isLooking }
            // As long as a look takes, and once more.
            for _ in 0..<2 { _ = try await blocking { ContainerSighting(of: container) } }
            #expect(await monitor.isLooking, "it waits for the watch")
            gate.signal()
            await look.value
            try remove(container.path.appending(".ubiquity"))
            let event = try #require(try await events.next())
            #expect(event.kind == .markGone && event.held.items == 100 && !event.isSuspended, "\(event)")
        }
    }

    @Test("A mark that goes, a store's content that goes, and a removed content are told apart")
    func parts() async throws {
        try await withContainer { container, events in
            let content = container.path.appending("CoreData/Notes")
            try FileManager.default.createDirectory(atPath: content.appending("epochs").string, withIntermediateDirectories: true)
            try write(content.appending("epochs/1.alice~x"))
            let monitor = try ContainerMonitor.shared(for: container)
            await monitor.lookNow()
            try write(content.appending("epochs/2.alice~x"))
            #expect(try await events.next()?.kind == .storeContentRemoved(store: "Notes", epoch: 2))
            try remove(content)
            #expect(try await events.next()?.kind == .storeContentGone(["Notes"]))
            try remove(container.markDirectory.appending(container.peer.description))
            #expect(try await events.next()?.kind == .markGone)
        }
    }

    @Test("A sign-out, which presenters hear of as of a deletion, does not make later deletions meant ones")
    func signOutIsNoDeletion() async throws {
        try await withContainer(items: 300) { container, events in
            let root = container.path.removingLastComponent().removingLastComponent()
            try await container.home.signOut(tellingWithin: .seconds(30))
            #expect(try await events.next()?.kind == .signedOut)
            try await container.home.signIn(container.account, containers: root, tellingWithin: .seconds(30))
            #expect(try await events.next()?.kind == .restored)
            try await unseen(container) { for index in 0..<200 { try remove(container.documents.appending("\(index).txt")) } }
            await (try ContainerMonitor.shared(for: container)).lookNow()
            // Else this is the next to be told.
            try remove(container.markDirectory)
            #expect(try await events.next()?.kind == .massDeletion(removed: 200, of: 300))
        }
    }

    @Test("U-79: a sign-out is told, nothing in the container goes, and the return of the account is told")
    func signOut() async throws {
        try await withContainer { container, events in
            let before = try tree(below: container.path)
            try container.home.signOut()
            let event = try #require(try await events.next())
            #expect(event.kind == .signedOut)
            #expect(event.held.items == 3)
            #expect(try tree(below: container.path) == before)
            try container.home.signIn(AccountName("bob"))
            try container.home.signIn(AccountName("alice"))
            #expect(try await events.next()?.kind == .restored)
        }
    }

    @Test("Who begins to listen when the container is gone already hears it, and who comes late hears what is still so")
    func late() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let container = try await UbiquityContainer("org.example.notes", home: home)
            try remove(container.path)
            let events = try container.events
            let first = events.limited().makeAsyncIterator()
            #expect(try await first.next()?.kind == .containerRemoved)
            let second = events.limited().makeAsyncIterator()
            #expect(try await second.next()?.kind == .containerRemoved)
            // It is watched for above its place.
            try FileManager.default.createDirectory(atPath: container.path.string, withIntermediateDirectories: false)
            #expect(try await first.next()?.kind == .markGone)
        }
    }

    @Test("A container made anew by another program is not taken for the one that was attached")
    func madeAnew() async throws {
        try await withContainer { container, events in
            try await unseen(container) {
                try remove(container.path)
                try FileManager.default.createDirectory(atPath: container.documents.string, withIntermediateDirectories: true)
                try write(container.documents.appending("new.txt"))
            }
            #expect(try await events.next()?.kind == .markGone)
            #expect(container.attachment() == .detached(.markGone))
        }
    }
}

extension ContainerMonitor {
    /// Looks once; a look that is under way may have seen what was there before.
    fileprivate func lookAnew() async {
        while isLooking { await Task.yield() }
        await settle()
    }

    /// Does something that no look sees half done.
    func unseen(_ body: @Sendable () throws -> Void) async rethrows {
        while isLooking { await Task.yield() }
        try body()
    }
}

@Suite("Signing out while items are shown", .timeLimit(.minutes(40)))
struct SignOutTests {
    /// Notes what it is told, and who is signed in then.
    private final class Shown: FilePresenter {
        let presentedItemURL: URL?
        let home: DeviceHome
        let isRefusing: Bool
        let heard = Mutex<[AccountName?]>([])

        init(_ path: FilePath, _ home: DeviceHome, isRefusing: Bool = false) {
            presentedItemURL = URL(filePath: path.string)
            self.home = home
            self.isRefusing = isRefusing
        }

        func accommodatePresentedItemDeletion() async throws {
            let account = try home.account
            heard.withLock { $0.append(account) }
            if isRefusing { throw CocoaError(.userCancelled) }
        }
    }

    @Test("U-79: a plain sign-out has it all: no token, the notice, no URL, empty queries, presenters that are told, and everything where it was")
    func plain() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            try UbiquityContainer.declare("org.example.first")
            let container = try await UbiquityContainer("org.example.first", home: home)
            try FileManager.default.createDirectory(atPath: container.documents.string, withIntermediateDirectories: false)
            let letter = container.documents.appending("Letter.txt")
            try Data("text".utf8).write(to: URL(filePath: letter.string))
            let before = try tree(below: container.path)
            let query = MetadataQuery(container) { _ in true }
            var updates = query.updates.makeAsyncIterator()
            query.start()
            while let update = await updates.next(), update.kind != .gatheringFinished {}
            let shown = Shown(letter, home)
            FileCoordinator.addFilePresenter(shown)
            defer { FileCoordinator.removeFilePresenter(shown) }
            let notice = Mutex<Bool?>(nil)
            let observer = NotificationCenter.default.addObserver(forName: .ubiquityIdentityDidChange, object: nil, queue: nil) { notification in
                guard notification.userInfo?["home"] as? String == home.path.string else { return }
                let isNew = (try? home.ubiquityIdentityToken) == .some(nil)
                notice.withLock { $0 = isNew }
            }
            defer { NotificationCenter.default.removeObserver(observer) }

            try home.signOut()
            #expect(try home.ubiquityIdentityToken == nil)
            #expect(await home.url(forUbiquityContainerIdentifier: "org.example.first") == nil)
            try home.recheckIdentity()
            #expect(notice.withLock { $0 } == true, "the token is new when the notice is posted")
            while !query.results.isEmpty { _ = await updates.next() }
            try await until("the presenter is told") { shown.heard.withLock { !$0.isEmpty } }
            #expect(shown.heard.withLock { $0 } == [nil])
            #expect(try tree(below: container.path) == before)
            // Another account in the place of one is a sign-out too.
            try home.signIn(AccountName("alice"))
            try home.signIn(AccountName("bob"))
            try await until("the presenter is told again") { shown.heard.withLock { $0.count } == 2 }
            #expect(try shown.heard.withLock { $0.last } == AccountName("bob"))
            #expect(try tree(below: container.path) == before)
        }
    }

    @Test("U-79: of several containers none has a URL after a sign-out or under another account, and in none is anything touched")
    func everyContainer() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let names = ["org.example.one", "org.example.two"]
            try HomeSettings(home).configure(["containers": names])
            var containers: [UbiquityContainer] = []
            for name in names {
                let container = try await UbiquityContainer(name, home: home)
                let folder = container.documents.appending("Sub")
                try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
                try Data(name.utf8).write(to: URL(filePath: folder.appending("Letter.txt").string))
                containers.append(container)
            }
            let before = try containers.map { try tree(below: $0.path) }
            try await home.signOut(tellingWithin: .seconds(60))
            for name in names { #expect(await home.url(forUbiquityContainerIdentifier: name) == nil) }
            #expect(try containers.map { try tree(below: $0.path) } == before)
            try home.signIn(AccountName("bob"))
            for (name, container) in zip(names, containers) {
                #expect(await home.url(forUbiquityContainerIdentifier: name) != container.url)
                #expect(try String(contentsOfFile: container.documents.appending("Sub/Letter.txt").string, encoding: .utf8) == name)
            }
            #expect(try containers.map { try tree(below: $0.path) } == before)
            try home.signIn(AccountName("alice"))
            for (name, container) in zip(names, containers) { #expect(await home.url(forUbiquityContainerIdentifier: name) == container.url) }
        }
    }

    @Test("U-79: presenters inside are told as by a deletion, once, when the account is gone already, and nothing is deleted")
    func told() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let container = try await UbiquityContainer("org.example.notes", home: home)
            let letter = container.path.appending("Letter.txt")
            try Data("text".utf8).write(to: URL(filePath: letter.string))
            let inside = Shown(letter, home)
            let refusing = Shown(container.path, home, isRefusing: true)
            let outside = Shown(directory.appending("Other.txt"), home)
            for presenter in [inside, refusing, outside] { FileCoordinator.addFilePresenter(presenter) }
            defer { for presenter in [inside, refusing, outside] { FileCoordinator.removeFilePresenter(presenter) } }
            #expect(try await home.signOut(tellingWithin: .seconds(60))?.description == "alice")
            #expect(inside.heard.withLock { $0 } == [nil])
            #expect(refusing.heard.withLock { $0 } == [nil])
            #expect(outside.heard.withLock { $0 } == [])
            #expect(FileManager.default.fileExists(atPath: letter.string))
            #expect(container.attachment() == .attached)
            // Another account in its place is told of in that way; signing in once more is nothing.
            try home.signIn(AccountName("alice"))
            try await home.signIn(AccountName("alice"), tellingWithin: .seconds(60))
            try await home.signIn(AccountName("bob"), tellingWithin: .seconds(60))
            #expect(try inside.heard.withLock { $0 } == [nil, AccountName("bob")])
        }
    }
}

@Suite("Wiping a container on purpose", .timeLimit(.minutes(40)))
struct ContainerWipeTests {
    private final class Shown: FilePresenter {
        let presentedItemURL: URL?
        let isRefusing: Bool
        let asked = Mutex(0)

        init(_ path: FilePath, isRefusing: Bool = false) {
            presentedItemURL = URL(filePath: path.string)
            self.isRefusing = isRefusing
        }

        func accommodatePresentedItemDeletion() async throws {
            asked.withLock { $0 += 1 }
            if isRefusing { throw CocoaError(.userCancelled) }
            // As an app does that closes what it shows.
            FileCoordinator.removeFilePresenter(self)
        }
    }

    private func withContainer(_ body: (UbiquityContainer) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let container = try await UbiquityContainer("org.example.notes", home: home)
            for name in ["Documents/Sub", "CoreData/Notes/epochs", "Cache.nosync"] {
                try FileManager.default.createDirectory(atPath: container.path.pushing(FilePath(name)).string, withIntermediateDirectories: true)
            }
            for name in ["Documents/a.txt", "Documents/Sub/b.txt", "CoreData/Notes/epochs/1.x", "Cache.nosync/c", "d.txt"] {
                try Data("x".utf8).write(to: URL(filePath: container.path.pushing(FilePath(name)).string))
            }
            try FileManager.default.createSymbolicLink(
                atPath: container.documents.appending("out").string, withDestinationPath: directory.appending("home").string)
            try await body(container)
        }
    }

    @Test("S-099, U-80: a wipe deletes each item under coordination with progress, leaves the attachment, and follows no link out")
    func wipe() async throws {
        try await withContainer { container in
            let presenter = Shown(container.documents.appending("Sub/b.txt"))
            FileCoordinator.addFilePresenter(presenter)
            defer { FileCoordinator.removeFilePresenter(presenter) }
            let told = Mutex<[Int]>([])
            let wipe = try await ContainerWipe.run(container) { files in told.withLock { $0.append(files) } }
            #expect(wipe == ContainerWipe(files: 6, left: []))
            #expect(told.withLock { $0 } == Array(1...6))
            #expect(presenter.asked.withLock { $0 } == 1)
            #expect(try tree(below: container.path) == [".ubiquity", ".ubiquity/\(container.peer)"])
            #expect(container.attachment() == .attached)
            #expect(try container.home.account == container.account)
            // Nothing makes it again by itself, and another wipe finds nothing.
            #expect(try await ContainerWipe.run(container) == ContainerWipe())
        }
    }

    @Test("A presenter that refuses keeps its item, which is listed, and the rest goes")
    func refused() async throws {
        try await withContainer { container in
            let presenter = Shown(container.documents.appending("a.txt"), isRefusing: true)
            FileCoordinator.addFilePresenter(presenter)
            let wipe = try await ContainerWipe.run(container)
            #expect(wipe.left.map(\.path).sorted() == ["Documents", "Documents/a.txt"])
            #expect(try tree(below: container.path) == [".ubiquity", ".ubiquity/\(container.peer)", "Documents", "Documents/a.txt"])
            FileCoordinator.removeFilePresenter(presenter)
            #expect(try await ContainerWipe.run(container).left == [])
        }
    }

    @Test("A container that is not there cannot be wiped, and is not made")
    func missing() async throws {
        try await withContainer { container in
            try FileManager.default.removeItem(atPath: container.path.string)
            await #expect(throws: ContainerError.self) { try await ContainerWipe.run(container) }
            #expect(!FileManager.default.fileExists(atPath: container.path.string))
        }
    }
}
