import ArgumentParser
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityTesting

/// Runs `ubcontrol devices`.
struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "Start simulated devices on this machine, and transfer files between them until interrupted.",
        discussion: """
            Each device is a signed-in home with its own containers root. A program with its UBIQUITY_HOME runs on this device. Files are \
            transferred between the containers roots of one account's devices whenever they change, as Syncthing would: including deletions, and \
            with conflict copies if a document was changed on two devices at once. To sign a device in to another account, name its containers root \
            again:

                ubcontrol sign-in bob --home HOME --containers ROOT

            SIGINT (Ctrl-C), SIGTERM and SIGHUP end it; it then removes the devices with all their data. Exit status 0, 1 if a file cannot be \
            transferred, 64 for a wrong command line.
            """
    )

    @Argument(help: ArgumentHelp("The number of devices.", valueName: "count"))
    var count = 2

    @Option(
        help: ArgumentHelp(
            "The accounts, separated by commas; the devices are signed in to them in turn.", valueName: "names"))
    var accounts = "alice"

    @Option(
        help: ArgumentHelp(
            "The directory of the devices.", discussion: "Existing devices keep their data. By default a temporary directory.",
            valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Flag(help: "Keep the devices at the end; a directory that existed before is always kept.")
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
        // This comes first, so that an early signal also removes everything.
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let signals = SignalHandlers { _ in end.yield() }
        let place = directory.map { FilePath($0) } ?? FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-\(UUID().uuidString)")
        let wasThere = FileManager.default.fileExists(atPath: place.string)
        let devices = SimulatedDevices(in: place)
        let isRemoved = !keep && !wasThere
        do {
            try await start(devices)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await devices.run() }
                group.addTask { for await _ in ends { return } }
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch {
            if isRemoved { try? devices.remove() }
            throw error
        }
        withExtendedLifetime(signals) {}
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
        if !json { print("Files are transferred between them until Ctrl-C.") }
        // A program that reads the pipe continues from here.
        fflush(nil)
    }

    private struct Line: Encodable {
        var name: String
        var account: String
        var home: String
        var containers: String
    }
}
