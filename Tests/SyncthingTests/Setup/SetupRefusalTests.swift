import Foundation
import Glibc
import SyncthingStatus
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import Waiting

/// What `ubcontrol setup` does with what it cannot use: one line that names the remedy, and nothing has changed.
@Suite("setup refuses", .serialized, .asking)
struct SetupRefusalTests {
    /// Expects that a run is refused in one line with these words, and has changed nothing.
    private func refused(_ device: BareDevice, _ arguments: [String], _ words: [String], status: Int32? = nil) async throws {
        let before = try device.state()
        let outcome = try await device.control(arguments)
        #expect(outcome.status == status ?? outcome.status && outcome.status != 0, "\(arguments): \(outcome)")
        #expect(outcome.output.isEmpty && outcome.errors.hasPrefix("Error: "), "\(arguments): \(outcome)")
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(arguments): \(outcome.errors)")
        for word in words { #expect(outcome.errors.contains(word), "\(arguments): \(outcome.errors)") }
        #expect(try device.state() == before, "\(arguments)")
    }

    @Test(
        "T-45: what answers at the address and is no Syncthing of today is named in one line, and nothing has changed",
        arguments: FalseSyncthing.allCases)
    func falseSyncthing(kind: FalseSyncthing) async throws {
        try await withBareDevices(1) { devices in
            let device = devices[0]
            try await kind.serve { address in
                let arguments = [
                    "setup", "syncthing", "--account", "alice", "--containers", device.root.string, "--address", address, "--key", "secret-key",
                    "--yes",
                    "--home", device.home.string,
                ]
                let words: [String] =
                    switch kind {
                    case .old: ["is v1.18.6; update it to 1.19 or newer"]
                    case .page, .empty, .list, .garbage: ["is not that of Syncthing 1.19 or newer; check the address"]
                    case .silent: ["has not answered within", "check whether it hangs"]
                    case .closing: ["does not answer", "check that it runs"]
                    }
                try await refused(device, arguments, words, status: 1)
                let outcome = try await device.control(arguments)
                #expect(!outcome.errors.contains("secret-key") && !FileManager.default.fileExists(atPath: device.home.string), "\(outcome)")
            }
        }
    }

    @Test("T-45: an address where nothing answers, and a program that is no Syncthing, or an old one, are named in one line")
    func missing() async throws {
        try await withBareDevices(1) { devices in
            let device = devices[0]
            let arguments = ["setup", "syncthing", "--account", "alice", "--containers", device.root.string, "--yes", "--home", device.home.string]
            try await refused(
                device, arguments + ["--address", "http://127.0.0.1:\(device.interface)", "--key", "k"], ["does not answer", "check that it runs"],
                status: 1)
            try await refused(device, arguments + ["--address", "nowhere", "--key", "k"], ["is not an address of Syncthing"])
            let bin = device.directory.appending("bin")
            try FileManager.default.createDirectory(atPath: bin.string, withIntermediateDirectories: true)
            let program = bin.appending("syncthing").string
            for (script, words) in [
                (nil, "is not installed"), ("exit 1", "is not Syncthing"), ("echo something else", "is not Syncthing"),
                ("echo 'syncthing v1.4.0 \"Fermium Flea\"'", "is Syncthing v1.4.0; install 1.19 or newer"),
            ] {
                if let script {
                    try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(filePath: program))
                    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
                }
                let outcome = try await Tool.run(
                    "ubcontrol", arguments + ["--syncthing-home", device.syncthing.string],
                    environment: ["PATH": bin.string, "HOME": device.directory.string])
                #expect(outcome.status == 1 && outcome.errors.contains(words), "\(outcome)")
                #expect(outcome.errors.split(separator: "\n").count == 1 && !FileManager.default.fileExists(atPath: device.home.string), "\(outcome)")
            }
            try FileManager.default.createDirectory(atPath: device.syncthing.string, withIntermediateDirectories: true)
            try Data("<configuration><gui>".utf8).write(to: URL(filePath: device.syncthing.appending("config.xml").string))
            try await refused(device, device.setUpArguments([]), ["is not a configuration of Syncthing", "--syncthing-home"], status: 1)
        }
    }

    @Test("T-46: a wrong key or code, another account, a directory that must not be shared: one line, and nothing has changed")
    func wishes() async throws {
        try await withBareDevices(2) { devices in
            let (a, b) = (devices[0], devices[1])
            let code = try await a.setUp()
            let endpoint = try a.endpoint
            let base = ["--yes", "--home", a.home.string]
            let key = ["setup", "syncthing", "--address", endpoint.address, "--key", "wrong"]
            try await refused(a, key + base, ["does not accept the API key", "copy it again"], status: 1)
            let wrong = try await a.control(key + base)
            #expect(!wrong.errors.contains(endpoint.key))

            // The code: a letter changed, another version, this device's own, or what is none.
            let letter: Character = code.last == "A" ? "B" : "A"
            for device in [a, b] {
                try await refused(
                    device, device.joinArguments(code.dropLast() + String(letter)), ["is mistyped or incomplete", "compare it"], status: 64)
                try await refused(device, device.joinArguments("UBQB" + code.dropFirst(4)), ["another version"], status: 64)
                try await refused(device, device.joinArguments("hello"), ["is not a code", "ubcontrol setup syncthing"], status: 64)
                try await refused(device, device.joinArguments(""), ["is not a code"], status: 64)
            }
            try await refused(a, a.joinArguments(code), ["is from this device"], status: 64)

            // Another account, another root, and roots that must not be shared.
            func wanted(_ account: String, _ root: FilePath) -> [String] {
                ["setup", "syncthing", "--account", account, "--containers", root.string, "--syncthing-home", a.syncthing.string] + base
            }
            try await refused(a, wanted("bob", a.root), ["alice is signed in", "--switch-account"], status: 64)
            try await refused(a, wanted("alice", a.directory.appending("other")), ["lie in \(a.root)", "leave out --containers"], status: 64)
            let other = ["--switch-account"]
            try await refused(a, wanted("bob", a.root.appending("inner")) + other, ["lies in Syncthing's folder ubiquity-alice"], status: 64)
            try await refused(a, wanted("bob", a.directory) + other, ["contains the device home"], status: 64)
            let letters = a.directory.appending("letters")
            try FileManager.default.createDirectory(atPath: letters.appending("Letter").string, withIntermediateDirectories: true)
            try await refused(a, wanted("bob", letters) + other, ["holds Letter", "--share-contents"], status: 64)
            let named = ["--name", "a\u{7}"] + other
            try await refused(a, wanted("bob", letters.appending("Letter/file/x")) + named, ["does not suit a device"], status: 64)
            let file = a.directory.appending("file")
            try Data().write(to: URL(filePath: file.string))
            try await refused(a, wanted("bob", file) + other, ["is not a directory"], status: 64)
            try await refused(a, wanted("..", a.root) + other, ["The account name"])

            // A folder of the user's that is shared with others.
            let client = try a.client
            try await client.add(
                NewDevice(id: DeviceIdentifier(bytes: Array(repeating: 9, count: 32))!.description, name: "Bob", addresses: ["dynamic"]))
            let pictures = a.directory.appending("pictures")
            try await client.add(
                NewFolder(
                    id: "pictures", label: "", path: pictures.string, devices: [DeviceIdentifier(bytes: Array(repeating: 9, count: 32))!.description])
            )
            try await until("Syncthing has made it", limit: patience) {
                FileManager.default.fileExists(atPath: pictures.appending(".stfolder").string)
            }
            try await refused(a, wanted("bob", pictures) + other, ["folder pictures with Bob", "--share-contents"], status: 64)
        }
    }

    @Test("T-46: a directory that this user cannot write, and a config.json that is damaged or newer, are refused untouched")
    func unwritable() async throws {
        try await withBareDevices(1) { devices in
            let device = devices[0]
            try #require(FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv"), "there is no setpriv: Tools/setup installs util-linux")
            // Root passes every check of permissions.
            let user = ["--reuid=65534", "--regid=65534", "--clear-groups", Tool.path("ubcontrol").string]
            let home = device.directory.appending("nobody")
            try FileManager.default.createDirectory(atPath: home.string, withIntermediateDirectories: true)
            for path in [device.directory, device.directory.removingLastComponent()] { chmod(path.string, 0o755) }
            chmod(home.string, 0o777)
            try FileManager.default.createDirectory(atPath: device.root.string, withIntermediateDirectories: true)
            for rest in [
                ["syncthing", "--account", "alice", "--containers", device.root.string], ["shared", device.root.string, "--account", "alice"],
                ["syncthing", "--account", "alice", "--containers", device.root.appending("a/b").string],
            ] {
                let outcome = try await Tool.run(
                    "/usr/bin/setpriv", user + ["setup"] + rest + ["--yes", "--home", home.appending("home").string],
                    environment: ["HOME": home.string])
                #expect(outcome.status == 1 && outcome.errors.contains("cannot be written by this user"), "\(rest): \(outcome)")
                #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: home.string).isEmpty, "\(rest)")
            }
            try FileManager.default.createDirectory(atPath: device.home.string, withIntermediateDirectories: true)
            for (text, words) in [
                ("{\"format\": 1,", "is damaged"), (#"{"format": 2}"#, "newer version"), (#"{"format": 1, "deviceName": 5}"#, "deviceName"),
            ] {
                try Data(text.utf8).write(to: URL(filePath: device.configuration.string))
                try await refused(device, device.setUpArguments([]), [words], status: 1)
                try await refused(
                    device, ["setup", "shared", device.root.string, "--account", "alice", "--yes", "--home", device.home.string], [words])
            }
        }
    }

    @Test("T-44: a device that knows the identifier and not the code is not let in, whatever it is called, and is named")
    func stranger() async throws {
        try await withBareDevices(2) { devices in
            let (a, b) = (devices[0], devices[1])
            let code = try PairingCode(try await a.setUp())
            try await b.setUp()
            let identifier = try #require(DeviceIdentifier(try await b.client.systemStatus().device))
            // Its name carries the proof of another device, as somebody would who has seen one.
            let proof = PairingProof(of: code, by: DeviceIdentifier(bytes: Array(repeating: 3, count: 32))!)
            try await b.client.change(device: identifier.description, DeviceChange(name: proof.tagged("thief")))
            try await b.client.add(NewDevice(id: code.device.description, name: "", addresses: [a.address]))
            try await b.client.change(folder: "ubiquity-alice", FolderChange(label: proof.tagged("x"), devices: [code.device.description]))
            try await until("it has asked", limit: patience) { try await a.client.pendingDevices().contains { $0.id == identifier.description } }
            let waited = try await a.control(a.setUpArguments(["--wait", "3"]))
            #expect(waited.status == 4 && waited.errors.contains("No device has joined within 3 s"), "\(waited)")
            let notes = try SetupLine.all(in: waited.output).filter { $0.kind == "note" }.compactMap(\.what)
            #expect(notes == ["The device “thief” (\(identifier.brief)) asks without the code, and is not let in."], "\(waited)")
            let (devices, status) = (try await a.client.devices(), try await a.status())
            #expect(devices.count == 1 && status.hasOpenCode)
        }
    }

    @Test("a device that joins and finds nobody says after its time what it waited for, and goes on when it is run again")
    func nobody() async throws {
        try await withBareDevices(2) { devices in
            let (a, b) = (devices[0], devices[1])
            let code = try await a.setUp()
            let waited = try await b.control(b.joinArguments(code, ["--at", a.address, "--wait", "1"]))
            // The other one hangs up once it has read who calls: a look before that finds a connection.
            #expect(waited.status == 4 && waited.errors.contains(/has not (connected|shared the folder) within 1 s/), "\(waited)")
            #expect(waited.errors.contains("firewall"), "\(waited)")
            #expect(waited.errors.split(separator: "\n").count == 1)
            async let first = a.control(a.setUpArguments([]))
            let again = try await b.control(b.joinArguments(code))
            #expect(again.status == 0, "\(again)")
            let outcome = try await first
            #expect(outcome.status == 0, "\(outcome)")
        }
    }
}
