// The app's tests, which simulate devices.
extension AppTemplate {
    var tests: String {
        """
        \(imports("Testing", "Ubiquity", "UbiquityTesting", name.storeModule))

        /// Tests what two devices of one account see.
        ///
        /// Each device is a directory, and files are carried between them as a synchroniser would.
        struct SyncTests {
            /// Runs a body with two devices of one account, and the app's store on each.
            private func withTwoDevices(
                _ body: (SimulatedDevices, _ desk: (device: SimulatedDevice, store: UbiquitousStore), _ phone: UbiquitousStore) async throws -> Void
            ) async throws {
                try await withSimulatedDevices(seed: 1) { devices in
                    let desk = try await devices.add("desk"), phone = try await devices.add("phone")
                    let onDesk = try await ItemStore.open(at: desk.storePath("Items.sqlite"), home: desk.home)
                    let onPhone = try await ItemStore.open(at: phone.storePath("Items.sqlite"), home: phone.home)
                    try await devices.settle(onDesk, onPhone)
                    try await body(devices, (desk, onDesk), onPhone)
                    try await onDesk.close()
                    try await onPhone.close()
                }
            }

            @Test("What one device adds and removes, the other device shows")
            func arrives() async throws {
                try await withTwoDevices { devices, desk, phone in
                    let milk = try await desk.store.add("Milk")
                    try await phone.add("Bread")
                    try await devices.settle(desk.store, phone)
                    #expect(try await desk.store.items().map(\\.title) == ["Bread", "Milk"])
                    #expect(try await phone.items() == desk.store.items())

                    try await phone.remove(milk)
                    try await devices.settle(desk.store, phone)
                    #expect(try await desk.store.items().map(\\.title) == ["Bread"])
                }
            }

            @Test("Two devices change two columns of one item at once, and both changes stay")
            func merges() async throws {
                try await withTwoDevices { devices, desk, phone in
                    let item = try await desk.store.add("Milk")
                    try await devices.settle(desk.store, phone)

                    try await desk.store.rename(item, to: "Oat milk")
                    try await phone.markDone(title: "Milk")
                    try await devices.settle(desk.store, phone)
                    for store in [desk.store, phone] {
                        let items = try await store.items()
                        #expect(items.map(\\.title) == ["Oat milk"])
                        #expect(items.map(\\.isDone) == [true])
                    }
                }
            }

            @Test("While the container is gone the store is suspended and keeps what is saved; when it is back, everything goes out")
            func wipe() async throws {
                try await withTwoDevices { devices, desk, phone in
                    try await desk.store.add("Milk")
                    try await devices.settle(desk.store, phone)
                    let backup = try desk.device.copyContainer(ItemStore.container)

                    try desk.device.deleteContainer(ItemStore.container)
                    await #expect(throws: UbiquitousStoreError.self) { try await desk.store.settled() }
                    try await desk.store.add("Bread")
                    #expect(try await desk.store.status().suspended != nil)
                    #expect(try await desk.store.items().map(\\.title) == ["Bread", "Milk"])

                    try desk.device.putBack(backup, as: ItemStore.container)
                    try await devices.settle(desk.store, phone)
                    #expect(try await desk.store.status().suspended == nil)
                    for store in [desk.store, phone] { #expect(try await store.items().map(\\.title) == ["Bread", "Milk"]) }
                }
            }
        }

        """
    }
}
