import Foundation
import SyncthingStatus
import ToolSupport
import UbiquityContainers

/// Tells what the setup does, for people or as JSON lines.
struct SetupTeller: Sendable {
    let isJSON: Bool

    private struct Step: Encodable {
        var kind = "step"
        var what: String
        var undo: String
    }

    private struct Code: Encodable {
        var kind = "code"
        var code: String
        var account: String
        var device: String
        var folder: String
        var addresses: [String]
    }

    private struct Joined: Encodable {
        var kind = "joined"
        var device: String
        var name: String
    }

    private struct Note: Encodable {
        var kind = "note"
        var what: String
    }

    /// Tells a step that was done.
    ///
    /// - Parameters:
    ///   - what: what was done.
    ///   - undo: the command line that undoes it.
    /// - Throws: `ExitCode` if the output has no reader any more.
    func step(_ what: String, undo: String) throws {
        if isJSON {
            try printJSON(Step(what: what, undo: undo))
        } else {
            print("\(what.printable)\n    undo: \(undo.printable)")
        }
        try flushOutput()
    }

    /// Tells something else.
    func note(_ what: String) throws {
        if isJSON { try printJSON(Note(what: what)) } else { print(what.printable) }
        try flushOutput()
    }

    /// Shows the code of this device.
    ///
    /// - Parameters:
    ///   - code: the code.
    ///   - addresses: the addresses of this device for Syncthing.
    /// - Throws: `ExitCode` if the output has no reader any more.
    func code(_ code: PairingCode, addresses: [String]) throws {
        if isJSON {
            try printJSON(
                Code(
                    code: code.description, account: code.account.description, device: code.device.description, folder: code.folder,
                    addresses: addresses))
            return try flushOutput()
        }
        print(
            """

            On the other device, run:

                ubcontrol setup join \(code)

            The code is good for one device and for one day. Keep it as secret as a password until it has been used.
            """)
        let reachable = addresses.filter { !$0.contains("127.0.0.1") && !$0.contains("[::1]") }
        if let address = reachable.first {
            print("If the devices do not find each other there, name this one's address too: --at \(address.printable)")
        }
        try flushOutput()
        guard isatty(STDOUT_FILENO) == 1, let program = ChildProgram.path("qrencode") else { return }
        // On standard input, because every user can read the arguments of a process.
        _ = try? ChildProgram.run(program, ["-t", "ANSIUTF8", "-m", "2"], input: code.description, isShown: true)
    }

    /// Tells that this device and another one see each other.
    func joined(_ device: String, name: String) throws {
        if isJSON {
            try printJSON(Joined(device: device, name: name))
        } else {
            print("This device and \(name.isEmpty ? device.printable : "“\(name.printable)” (\(device.prefix(7)))") see each other.")
        }
        try flushOutput()
    }
}
