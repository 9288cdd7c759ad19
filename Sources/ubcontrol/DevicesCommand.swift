import ArgumentParser
import Dispatch
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityTesting

/// Runs `ubcontrol devices`.
struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "Start simulated devices on this machine, and carry files between them until interrupted.",
        discussion: """
            Each device is a home that is signed in, with a containers root of its own. Give its UBIQUITY_HOME to a program, and that runs on this device. Files \
            are carried between the containers roots of one account's devices as they change, as Syncthing would: deletions too, and conflict copies \
            where a document was changed on two devices at once. To sign a device in to another account, name its containers root again:

                ubcontrol sign-in bob --home HOME --containers ROOT

            SIGINT (Ctrl-C), SIGTERM and SIGHUP end it; the devices are removed then, with all that is on them. Exit status 0, 1 where a file cannot be \
            carried, 64 for a wrong command line.
            """
    )

    @Argument(help: ArgumentHelp("How many devices.", valueName: "count"))
    var count = 2

    @Option(
        help: ArgumentHelp(
            "The accounts that they are signed in to, by turns, separated by commas.", valueName: "names"))
    var accounts = "alice"

    @Option(
        help: ArgumentHelp(
            "Where the devices lie.", discussion: "Devices that are there already go on with what they hold. Else a temporary directory.",
            valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Flag(help: "Leave the devices there at the end; a directory that was there before is left in any case.")
    var keep = false

    @Flag(help: "Print a JSON object for each device: name, account, home, containers.")
    var json = false

    private static let most = 100

    func validate() throws {
        guard (1...Self.most).contains(count) else { throw ValidationError("\(count) devices: give a number from 1 to \(Self.most).") }
        do {
            _ = try names
        } catch {
            throw ValidationError("--accounts: \(error.message)")
        }
    }

    private var names: [AccountName] {
        get throws(ContainerError) {
            var names: [AccountName] = []
            for name in accounts.split(separator: ",", omittingEmptySubsequences: false) { names.append(try AccountName(String(name))) }
            return names
        }
    }

    func run() async throws {
        // First, so that one that comes early removes everything too.
        let end = Interruption()
        let place = directory.map { FilePath($0) } ?? FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-\(UUID().uuidString)")
        let wasThere = FileManager.default.fileExists(atPath: place.string)
        let devices = SimulatedDevices(in: place)
        let isRemoved = !keep && !wasThere
        do {
            try await start(devices)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await devices.run() }
                group.addTask { [stream = end.stream] in for await _ in stream { return } }
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch {
            if isRemoved { try? devices.remove() }
            throw error
        }
        withExtendedLifetime(end) {}
        if isRemoved { try devices.remove() }
        if !json { print(isRemoved ? "Removed \(devices.directory)." : "The devices are in \(devices.directory).") }
    }

    private func start(_ devices: SimulatedDevices) async throws {
        let names = try names
        for number in 0..<count {
            let device = try await devices.add("device\(number + 1)", account: names[number % names.count].description)
            if json {
                try printJSON(
                    Line(name: device.name, account: device.account, home: device.home.path.string, containers: device.root.string))
            } else {
                print("\(device.name)  \(device.account)  UBIQUITY_HOME=\(device.home.path)  containers: \(device.root)")
            }
        }
        if !json { print("Files are carried between them until Ctrl-C.") }
        // A program that reads a pipe goes on from here.
        fflush(nil)
    }

    private struct Line: Encodable {
        var name: String
        var account: String
        var home: String
        var containers: String
    }
}

/// A signal that asks a program to end.
private final class Interruption {
    /// Gives something when it has come.
    let stream: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    /// From now on it is waited for; it ends nothing by itself.
    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        self.stream = stream
        sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
        }
    }
}
