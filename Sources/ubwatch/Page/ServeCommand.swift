import ArgumentParser
import CLinux
import Dispatch
import Foundation
import Glibc
import Logging
import LoopbackServer
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubwatch serve`.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Show all containers of the signed-in account on a page, live.",
        discussion: """
            The page has what the view of `ubwatch CONTAINER` has, for all containers together and for each: account, transport and stores in a \
            sentence each, what is transferred, the space that is taken, items, peers against peers, conflicts, held and quarantined entries with the \
            commands that mend them, logs looked into, and the changes as they arrive. It follows the account, and waits for a wiped container.

            Only this user can open it: the server listens on loopback, and its address holds a ticket that nobody guesses, which the browser \
            exchanges for a cookie. With --open, the browser gets the address in a file of the device home that only this user can read. It changes \
            nothing unless --allow-actions is given; then each action is a command of ubcontrol or ubwatch, and asks first.

            With --json the first line is an object: url, port. Where standard output is no terminal, the address is not printed otherwise: a journal \
            has other readers. Under systemd it tells when it is ready, where it serves, and that it lives (sd_notify(3)). SIGINT and SIGTERM end \
            the server, with status 0. Exit status 69 if the port is taken; 64 for wrong usage, or if the \
            device home cannot be one.

            EXAMPLES
            ubwatch serve --open
            ubwatch serve --port 0 --json | jq -r .url
            systemctl --user enable --now ubwatch
            """)

    /// The port beside Syncthing's.
    private static let usualPort = 8390

    @Option(help: ArgumentHelp("The port on 127.0.0.1; 0 takes a free one.", valueName: "number"))
    var port = Self.usualPort

    @Flag(help: "Open the page in the browser of this desktop, with xdg-open. A page that is served already is opened.")
    var open = false

    @Flag(help: "Let the page pause and resume stores, verify containers, fetch and evict items, and transfer at once.")
    var allowActions = false

    @Flag(help: "Show a notification of the desktop, with notify-send, when something needs a person.")
    var notify = false

    @Flag(help: "Print the address as a JSON object: url, port.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "The device home.", discussion: "By default $UBIQUITY_HOME, $XDG_DATA_HOME/ubiquity, or ~/.local/share/ubiquity.", valueName: "dir"),
        completion: .directory)
    var home: String?

    /// The greatest numbers of listed items and problems of a container.
    private static let items = 100_000
    private static let troubles = 1_000

    func validate() throws { if !(0...65_535).contains(port) { throw ValidationError("A port is a number from 0 to 65535.") } }

    func run() async throws {
        clinux_return_large_blocks()
        signal(SIGPIPE, SIG_IGN)
        let manager = ServiceManager.ofThisProcess()
        JournalLog.begin("ubwatch")
        guard let home = home.map({ DeviceHome(FilePath($0)) }) ?? (try? DeviceHome.standard()) else {
            throw Refusal("There is no device home; name one with --home.")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: home.path.string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Refusal("\(home.path) cannot be a device home; name another directory with --home.".printable)
        }
        let file = PageFile(home: home)
        let lock = try? file.lock()
        if open, lock == nil, await file.open() { return }
        var options = WatchReader.Options()
        (options.items, options.troubles) = (Self.items, Self.troubles)
        let notices = AsyncStream.makeStream(of: PersonNotice.self, bufferingPolicy: .bufferingNewest(16))
        let notifies: @Sendable (WatchFacts?, WatchFacts) -> Void = { old, new in
            for notice in PersonNotice.notices(from: old, to: new) { notices.continuation.yield(notice) }
        }
        let hub = PageHub(home, options: options, notify: notify ? notifies : nil)
        var logger = Logger(label: "ubwatch") { label -> any LogHandler in
            if let journal = JournalLog.ofThisProcess(label) { return journal }
            return StreamLogHandler.standardError(label: label)
        }
        logger.logLevel = .warning
        let page = try PageServer(hub, allowsActions: allowActions)
        let server = LoopbackServer(allowsActions: allowActions, logger: logger) { await page.answer($0) }
        let served = PageServing(file: lock == nil ? nil : file, opens: open, json: json)
        // A signal may follow the address at once.
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let signals = SignalHandlers { _ in end.yield() }
        do {
            try await withThrowingTaskGroup { group in
                group.addTask {
                    // Who asks at once is not told that the containers are unknown.
                    await hub.hasLooked()
                    guard !Task.isCancelled else { return }
                    try await server.run(port: port) { access in
                        await served.begin(access)
                        manager.tell(.ready, .status("the page is on port \(access.port)"))
                    }
                }
                group.addTask { await hub.run() }
                group.addTask { for await notice in notices.stream { _ = await PageCommand.run(notice.command) } }
                group.addTask { for await _ in ends { break } }
                group.addTask {
                    // The page is as alive as the hub that each reader asks.
                    await manager.tellLife {
                        _ = await hub.present
                        return true
                    }
                    for await _ in AsyncStream<Never>.makeStream().stream {}
                }
                try await group.next()
                manager.tell(.stopping)
                await served.end()
                signals.cancel()
                Self.endSoon()
                group.cancelAll()
                while (try? await group.next()) != nil {}
            }
        } catch LoopbackServer.PortRefused.taken {
            throw Refusal("Port \(port) of 127.0.0.1 is taken by another program; name another one with --port.", status: ToolExit.unavailable)
        } catch LoopbackServer.PortRefused.reserved {
            throw Refusal("Port \(port) is for root alone; name one from 1024 on with --port.", status: ToolExit.unavailable)
        }
        withExtendedLifetime((lock, signals)) {}
    }

    /// Ends the process in two seconds, or at the next signal: a browser that reads nothing keeps a connection open.
    private static func endSoon() {
        for number in SignalHandlers.ends { signal(number, SIG_DFL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 2) { Foundation.exit(0) }
    }
}

/// What is told while the page is served.
private actor PageServing {
    /// The file that leads to the page; nil if it leads to the page of another server.
    private let file: PageFile?
    private let opens: Bool
    private let json: Bool

    init(file: PageFile?, opens: Bool, json: Bool) { (self.file, self.opens, self.json) = (file, opens, json) }

    private struct Address: Encodable {
        var url: String
        var port: Int
    }

    func begin(_ access: LoopbackAccess) {
        do { try file?.write(access.address) } catch {
            printError("ubwatch: \(file?.path ?? "") cannot be written (\(error)), so --open does not find this page".printable)
        }
        if json {
            print((try? jsonLine(Address(url: access.address, port: access.port))) ?? "{}")
        } else if isatty(STDOUT_FILENO) == 1 {
            print("The page is at \(access.address)\nControl-C ends it.")
        } else {
            print("The page is served on port \(access.port); ubwatch serve --open opens it.")
        }
        try? flushOutput()
        guard opens, let file else { return }
        // A browser that runs in the foreground ends later than it reads the page.
        Task.detached {
            if !(await file.open()) { printError("ubwatch: no browser could be opened with xdg-open; open the address by hand") }
        }
    }

    func end() { file?.remove() }
}
