import Foundation
import SystemPackage
import ToolProcesses

/// A device whose user signs in and out, beside another device of one of the accounts.
struct AccountStory {
    private let directory: FilePath
    private let shared: FilePath
    private let desk: Device
    private let phone: Device

    private static let (alice, bob) = ("alice@example.org", "bob@example.org")

    init(directory: FilePath) {
        self.directory = directory
        shared = directory.appending("containers")
        desk = Device(name: "desk", home: directory.appending("account-desk"))
        phone = Device(name: "phone", home: directory.appending("account-phone"))
    }

    func tell(_ checks: inout Checks) async throws {
        try FileManager.default.createDirectory(atPath: shared.string, withIntermediateDirectories: true)
        try await launchSignedOut(&checks)
        try await signIn(&checks)
        try await reachPhone(&checks)
        try await signOut(&checks)
        try await changeAccount(&checks)
        try await comeBack(&checks)
        try await removeEverything(&checks)
        try await restart(&checks)
        try await lookAtOtherAccount(&checks)
    }

    func end() async {
        await desk.stop()
        await phone.stop()
    }

    // MARK: The story

    private func launchSignedOut(_ checks: inout Checks) async throws {
        try await desk.start()
        try await desk.run("notes", ["add", "Written before any sign-in"])
        let (place, titles) = try await (desk.place(), desk.titles())
        let shared = try FileManager.default.subpathsOfDirectory(atPath: shared.string)
        checks.check(
            "first launch, signed out: a note stays on the device",
            place.place == "local" && titles == ["Written before any sign-in"] && shared.isEmpty,
            "\(desk.name) keeps \(titles.count) note in its \(place.place) file; \(shared.count) files in the shared directory")
    }

    /// Signs in while the app runs.
    private func signIn(_ checks: inout Checks) async throws {
        let before = try await desk.list()
        try await desk.signIn(to: Self.alice, in: shared)
        // It reads the container, so that everything has gone out when it returns.
        let after = try await desk.list(reading: true)
        let place = try await desk.place()
        let logs = try files(of: Self.alice, ".ublog")
        checks.check(
            "sign in: the running app changes to the account's file, and the note joins the account",
            place.place == "account" && place.account == Self.alice && before == after && place.unpublished == 0 && logs.count == 1,
            "\(before.count) note before, \(after.count) after, every column alike; \(logs.count) log in the container")
    }

    private func reachPhone(_ checks: inout Checks) async throws {
        try await phone.run("ubcontrol", ["sign-in", Self.alice, "--containers", shared.string])
        try await phone.start()
        let (left, right) = try await (desk.list(), phone.list())
        checks.check(
            "the note from before the sign-in is on the account's other device", left == right && left.count == 1,
            "\(phone.name) lists \(right.map(\.title).quoted)")
    }

    private func signOut(_ checks: inout Checks) async throws {
        try await desk.signOut()
        let (place, titles) = try await (desk.place(), desk.titles())
        let other = try await phone.titles()
        checks.check(
            "sign out: the app shows its own local file, and none of the account's notes",
            place.place == "local" && titles.isEmpty && other == ["Written before any sign-in"],
            "\(desk.name) lists \(titles.count) notes in its \(place.place) file; \(phone.name) still lists \(other.count)")
    }

    private func changeAccount(_ checks: inout Checks) async throws {
        try await desk.signIn(to: Self.bob, in: shared)
        try await desk.run("notes", ["add", "Bob's own"])
        // The first account goes on without this device.
        try await phone.run("notes", ["add", "Written while the desk is Bob's"])
        let (place, titles) = try await (desk.place(), desk.titles())
        let other = try await phone.titles()
        checks.check(
            "another account has notes of its own, and the first account's stay with it",
            place.account == Self.bob && titles == ["Bob's own"] && other == ["Written before any sign-in", "Written while the desk is Bob's"],
            "\(desk.name) lists \(titles.quoted); \(phone.name) lists \(other.quoted)")
    }

    private func comeBack(_ checks: inout Checks) async throws {
        try await desk.signIn(to: Self.alice, in: shared)
        let wanted = try await phone.list()
        try await desk.until("it has what was written meanwhile") { try await $0.list() == wanted }
        let place = try await desk.place()
        checks.check(
            "back in the first account: its notes are there, with what was written meanwhile",
            place.account == Self.alice && wanted.count == 2, "both list \(wanted.map(\.title).quoted)")
    }

    private func removeEverything(_ checks: inout Checks) async throws {
        let before = try await (desk.list().count, phone.list().count)
        try await desk.run("notes", ["clear", "--yes"])
        try await phone.wait(for: "the removal") { $0.contains { $0.event == "removed" } }
        let after = try await (desk.list().count, phone.list().count)
        checks.check(
            "remove everything: one command empties all devices of the account", before == (2, 2) && after == (0, 0),
            "\(desk.name): \(before.0) notes, then \(after.0); \(phone.name): \(before.1), then \(after.1)")
    }

    /// Starts everything again, with a device that is new, and writes.
    private func restart(_ checks: inout Checks) async throws {
        for device in [desk, phone] { await device.stop() }
        for device in [desk, phone] { try await device.start() }
        let tablet = Device(name: "tablet", home: directory.appending("account-tablet"))
        try await tablet.run("ubcontrol", ["sign-in", Self.alice, "--containers", shared.string])
        let fresh = try await tablet.list(reading: true)
        let restarted = try await (desk.list(reading: true), phone.list(reading: true))
        // The files of the removed content go once each device has seen the removal.
        for device in [desk, phone] { _ = try await device.list(reading: true) }
        try await tablet.run("notes", ["add", "A new beginning"])
        let wanted = try await tablet.list()
        for device in [desk, phone] { try await device.until("it has the new note") { try await $0.list() == wanted } }
        let ended = try files(of: Self.alice, ".ublog").filter { $0.contains("/1/") }
        checks.check(
            "nothing comes back: not after a restart, nor on a new device; the account is used again",
            fresh.isEmpty && restarted.0.isEmpty && restarted.1.isEmpty && ended.isEmpty && wanted.count == 1,
            "three devices listed 0 notes, and list \(wanted.map(\.title).quoted) now; \(ended.count) logs from before the removal")
    }

    private func lookAtOtherAccount(_ checks: inout Checks) async throws {
        try await desk.signIn(to: Self.bob, in: shared)
        let titles = try await desk.titles()
        checks.check(
            "the removal concerned one account: the other's notes are there", titles == ["Bob's own"], "\(desk.name) as Bob lists \(titles.quoted)")
    }

    /// The files of an account's container whose names end in a text.
    private func files(of account: String, _ suffix: String) throws -> [String] {
        let container = shared.appending(account).appending("org.example.notes")
        return try FileManager.default.subpathsOfDirectory(atPath: container.string).filter { $0.hasSuffix(suffix) }
    }
}

extension [String] {
    /// The texts in quotation marks, with commas.
    fileprivate var quoted: String { isEmpty ? "nothing" : map { "“\($0)”" }.joined(separator: ", ") }
}
