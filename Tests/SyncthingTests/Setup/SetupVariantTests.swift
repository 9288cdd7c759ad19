import Foundation
import SyncthingStatus
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import Waiting

/// Devices that already have something: a Syncthing, a configuration, each other, or a shared disk.
@Suite("setup where something is there", .serialized, .asking)
struct SetupVariantTests {
    private func members(_ device: BareDevice) throws -> [String: Any] {
        let data = try Data(contentsOf: URL(filePath: device.configuration.string))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test("T-49: every other member of config.json stays, only its user can read it, and no output shows the key")
    func configuration() async throws {
        try await withBareDevices(1) { devices in
            let device = devices[0]
            try FileManager.default.createDirectory(atPath: device.home.string, withIntermediateDirectories: true)
            let text = #"{"format": 1, "containers": ["org.example.notes"], "future": {"a": [1, 2.5, null, "é"]}, "transport": "directory"}"#
            try Data(text.utf8).write(to: URL(filePath: device.configuration.string))
            let outcome = try await device.control(device.setUpArguments(["--name", "Ann's laptop", "--no-wait"]))
            #expect(outcome.status == 0, "\(outcome)")
            let key = try device.endpoint.key
            #expect(!outcome.output.contains(key) && !outcome.errors.contains(key))
            let members = try members(device)
            #expect(Set(members.keys) == ["format", "containers", "future", "syncthing", "deviceName"], "\(members)")
            #expect(members["deviceName"] as? String == "Ann's laptop" && (members["syncthing"] as? [String: Any])?["key"] as? String == key)
            let future = try #require((members["future"] as? [String: Any])?["a"] as? [Any])
            #expect(future.count == 4 && future[1] as? Double == 2.5 && future[2] is NSNull && future[3] as? String == "é")
            for file in [device.configuration, device.home.appending("setup.json")] {
                let mode = try FileManager.default.attributesOfItem(atPath: file.string)[.posixPermissions] as? Int
                #expect(mode == 0o600, "\(file)")
            }
            // The device has its name in Syncthing, too, and for the programs of this device.
            let this = try await device.client.systemStatus().device
            #expect(try await device.client.devices().first { $0.id == this }?.name == "Ann's laptop")
            #expect(try DeviceHome(device.home).deviceName == "Ann's laptop")

            let status = try await device.control(["setup", "status", "--home", device.home.string])
            #expect(status.status == 0 && status.output.contains("alice on “Ann's laptop”") && !status.output.contains(key), "\(status)")
            let undone = try await device.control(["setup", "undo", "--yes", "--home", device.home.string])
            #expect(undone.status == 0 && !undone.output.contains(key), "\(undone)")
            #expect(try Set(self.members(device).keys) == ["format", "containers", "future"])
            #expect(try await device.control(["setup", "undo", "--home", device.home.string]).output.hasPrefix("Nothing to undo"))
        }
    }

    @Test("T-51: a device that Syncthing already knows joins with a code like any other")
    func known() async throws {
        try await withBareDevices(2) { devices in
            let (a, b) = (devices[0], devices[1])
            let code = try await a.setUp()
            try await b.setUp()
            // The user has connected the two by hand, for something else.
            let (first, second) = (try await a.client.systemStatus().device, try await b.client.systemStatus().device)
            try await a.client.add(NewDevice(id: second, name: "b", addresses: ["dynamic"]))
            try await b.client.add(NewDevice(id: first, name: "a", addresses: [a.address]))
            try await until("they are connected", limit: patience) { try await a.client.connections().connected.contains(second) }
            async let waited = a.control(a.setUpArguments([]))
            let joined = try await b.control(b.joinArguments(code))
            #expect(joined.status == 0, "\(joined)")
            let outcome = try await waited
            #expect(outcome.status == 0, "\(outcome)")
            let status = try await a.status()
            #expect(status.devices.map(\.name) == ["b"] && status.devices.allSatisfy(\.sees), "\(status)")
            #expect(try await b.client.folders().map(\.label) == ["Ubiquity alice"], "the proof has been put away")
        }
    }

    @Test("T-52: a Syncthing that answers over HTTPS is asked with its own certificate, and with no other")
    func certificate() async throws {
        try await withBareDevices(1) { devices in
            let device = devices[0]
            try await device.setUp()
            let stopped = try await device.control(["setup", "undo", "--yes", "--home", device.home.string])
            #expect(stopped.status == 0, "\(stopped)")
            try await until("Syncthing has ended", limit: patience) { device.processes.isEmpty }
            let file = device.syncthing.appending("config.xml").string
            let text = try String(contentsOfFile: file, encoding: .utf8)
            try text.replacingOccurrences(of: #"tls="false""#, with: #"tls="true""#).write(toFile: file, atomically: true, encoding: .utf8)
            try await device.setUp()
            let syncthing = try #require(try members(device)["syncthing"] as? [String: Any])
            #expect(syncthing["address"] as? String == "https://127.0.0.1:\(device.interface)")
            #expect(syncthing["certificate"] as? String == device.syncthing.appending("https-cert.pem").string)
            #expect(try await device.status().isReady)
        }
    }

    @Test("T-52: if the user's systemd knows Syncthing, it starts it, and the undoing stops it")
    func service() async throws {
        try await withBareDevices(1) { devices in
            let device = devices[0]
            let bin = device.directory.appending("bin")
            try FileManager.default.createDirectory(atPath: bin.string, withIntermediateDirectories: true)
            let (program, log) = (bin.appending("systemctl").string, device.directory.appending("log").string)
            let script = """
                #!/bin/sh
                echo "$@" >> \(log)
                case "$2" in
                enable) setsid --fork syncthing serve --home=\(device.syncthing) --no-browser > /dev/null 2>&1 < /dev/null ;;
                esac
                """
            try Data(script.utf8).write(to: URL(filePath: program))
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
            // Syncthing's own directory, which it finds by itself.
            let own = device.directory.appending(".config")
            try FileManager.default.createDirectory(atPath: own.string, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: own.appending("syncthing").string, withDestinationPath: device.syncthing.string)
            try FileManager.default.createDirectory(atPath: device.syncthing.string, withIntermediateDirectories: true)
            let environment = ["PATH": "\(bin):/usr/bin:/bin", "HOME": device.directory.string, "STNOUPGRADE": "1"]
            let arguments = [
                "setup", "syncthing", "--account", "alice", "--containers", device.root.string, "--listen", device.address, "--gui-address",
                "127.0.0.1:\(device.interface)", "--local-only", "--no-wait", "--yes", "--home", device.home.string,
            ]
            let outcome = try await Tool.run("ubcontrol", arguments, environment: environment)
            #expect(outcome.status == 0 && outcome.output.contains("with systemd, now and at each login"), "\(outcome)")
            let undone = try await Tool.run("ubcontrol", ["setup", "undo", "--yes", "--home", device.home.string], environment: environment)
            #expect(undone.status == 0 && undone.output.contains("Stopped syncthing.service."), "\(undone)")
            let calls = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
            #expect(
                calls == ["--user cat syncthing.service", "--user enable --now syncthing.service", "--user disable --now syncthing.service"],
                "\(calls)")
        }
    }

    @Test("T-50: a shared disk is set up with one command on each device, which says what it did, and undone by one")
    func shared() async throws {
        try await withBareDevices(2) { devices in
            let disk = devices[0].directory.removingLastComponent().appending("disk")
            func arguments(_ device: BareDevice, _ rest: String...) -> [String] {
                ["setup", "shared", disk.string, "--account", "alice"] + rest + ["--yes", "--home", device.home.string]
            }
            let missing = try await devices[0].control(arguments(devices[0]))
            #expect(
                missing.status == 64 && missing.errors == "Error: \(disk) does not exist; mount the disk, and make the directory.\n", "\(missing)")
            #expect(!FileManager.default.fileExists(atPath: devices[0].home.string))
            try FileManager.default.createDirectory(atPath: disk.string, withIntermediateDirectories: true)
            for device in devices {
                for round in 0..<2 {
                    let outcome = try await device.control(arguments(device, "--name", device.directory.lastComponent!.string))
                    #expect(outcome.status == 0 && outcome.output.contains("Signed in to alice") == (round == 0), "\(outcome)")
                    #expect(outcome.output.contains("lies on a disk of this machine"), "\(outcome)")
                }
                #expect(try members(device)["transport"] as? String == "directory")
                let status = try await device.status()
                #expect(status.isReady && status.transport == "directory" && status.deviceName == device.directory.lastComponent!.string, "\(status)")
            }
            try await devices[0].add("Milk")
            #expect(try await devices[1].titles() == ["Milk"])
            let undone = try await devices[0].control(["setup", "undo", "--yes", "--home", devices[0].home.string])
            #expect(undone.status == 0, "\(undone)")
            #expect(try Set(members(devices[0]).keys) == ["format"])
            #expect(try await devices[1].titles() == ["Milk"])
        }
    }

    @Test("on a terminal the setup asks for the name and a confirmation, and shows the code as a QR code, too")
    func terminal() async throws {
        try await withBareDevices(1) { devices in
            let device = devices[0]
            try #require(FileManager.default.isExecutableFile(atPath: "/usr/bin/qrencode"), "there is no qrencode: Tools/setup installs it")
            let command = device.setUpArguments(["--no-wait"]).filter { $0 != "--yes" && $0 != "--json" }
            /// Runs it with a terminal of its own, script(1), where somebody types.
            func run(typing text: String) async throws -> Tool.Outcome {
                let words = ([Tool.path("ubcontrol").string] + command).joined(separator: " ")
                return try await Tool.run(
                    "/bin/bash", ["-c", "printf '\(text)' | script -qec '\(words)' /dev/null"],
                    environment: ["HOME": device.directory.string, "STNOUPGRADE": "1"])
            }
            let declined = try await run(typing: "desk\\nno\\n")
            #expect(declined.output.contains("This device, “desk”, shares \(device.root) for the account alice"), "\(declined)")
            #expect(declined.output.contains("Nothing has been changed.") && !FileManager.default.fileExists(atPath: device.home.string))
            let agreed = try await run(typing: "desk\\nyes\\n")
            #expect(agreed.output.contains("ubcontrol setup join UBQA") && agreed.output.contains("█"), "\(agreed)")
            #expect(try await device.status().deviceName == "desk")
        }
    }
}
