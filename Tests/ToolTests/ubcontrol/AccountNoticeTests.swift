import Foundation
import Synchronization
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import Waiting

/// What a running process hears of accounts.
struct AccountNoticeTests {
    @Test(
        "U-66, S-028: a sign-in, a switch and a sign-out by another process are each told to a running one, which finds the new token",
        .timeLimit(.minutes(40)))
    func notices() async throws {
        try await withDevices(1) { devices in
            let home = DeviceHome(devices[0].home)
            // Looking a container up is all that the app does.
            let container = try await UbiquityContainer("org.example.notes", home: home)
            let (posted, continuation) = AsyncStream.makeStream(of: UbiquityIdentityToken?.self)
            let observer = NotificationCenter.default.addObserver(forName: .ubiquityIdentityDidChange, object: nil, queue: nil) { notification in
                if notification.userInfo?["home"] as? String == home.path.string { continuation.yield(try? home.ubiquityIdentityToken) }
            }
            defer { NotificationCenter.default.removeObserver(observer) }
            let (notifications, changes) = (posted.limited().makeAsyncIterator(), try home.identityChanges.limited().makeAsyncIterator())
            let alice = try home.ubiquityIdentityToken
            #expect(try await changes.next() == .some(alice))
            for arguments in [["sign-in", "bob"], ["sign-out"], ["sign-in", "alice"]] {
                #expect(try await Tool.run("ubcontrol", arguments + ["--home", home.path.string]).status == 0)
                let token = try home.ubiquityIdentityToken
                #expect((token == nil) == (arguments == ["sign-out"]))
                #expect(try await changes.next() == .some(token))
                #expect(try await notifications.next() == .some(token), "the token is the new one when the notice comes")
            }
            #expect(try home.ubiquityIdentityToken == alice)
            withExtendedLifetime(container) {}
        }
    }
}
